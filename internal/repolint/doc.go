// Package repolint holds the rules of this repository that a compiler does not know, as functions over a file tree. Its
// tests apply them to the repository, and apply each to a sample that breaks it, since a rule that cannot fail guards
// nothing.
package repolint
