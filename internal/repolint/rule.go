package repolint

// A Rule is one habit of the repository.
type Rule struct {
	// Name is short, in lower case, with hyphens.
	Name string
	// Why is a sentence that is printed with every finding.
	Why string
	// Check returns what breaks the rule, each with its place. None is a tree in order.
	Check func(*Tree) []string
}

// Rules returns every rule.
func Rules() []Rule {
	return []Rule{
		{"root-requires-nothing", "Whoever imports the root module gets one module and no other.", rootRequiresNothing},
		{"root-imports-std", "The root module, tests included, is built from the standard library.", rootImportsStd},
		{"layers", "One seam: a package imports only what lies below it.", layersHold},
		{"no-internal-outside", "Nested modules are versioned apart, so what is internal to the root is not theirs.", noInternalOutside},
		{"workspace", "A module that the workspace does not list is neither tested nor linted.", workspaceComplete},
		{"go-directive", "All modules promise the same oldest release of Go.", goDirectiveEqual},
		{"replace", "Until a release exists, a nested module finds its siblings in the same tree.", replaceSiblings},
		{"module-table", "A module exists only for the dependency that would reach users who do not need it.", moduleTable},
		{"file-length", "A file of more than 600 lines holds more than one noun.", fileLength},
		{"drawer-names", "A name that says nothing collects everything.", drawerNames},
		{"package-comment", "A package without a comment does not say what it is for.", packageComments},
		{"exported-comment", "The contract of an exported name is its comment.", exportedComments},
		{"package-state", "A clock, timer or channel of a package is fatal in a user's synctest bubble.", packageState},
		{"sleeping-test", "A test that sleeps is slow or flaky, and mostly both; synctest has a clock for it.", sleepingTests},
		{"skipped-test", "A test that skips is green without having run.", skippedTests},
		{"work-note", "What is not done is an issue; a note in the tree is forgotten.", workNotes},
		{"machine-path", "The tree must not depend on the machine it was written on.", machinePaths},
		{"licence", "Without its licence nobody may use it.", licencePresent},
		{"doc-reference", "A document that names what is not there sends its reader astray.", docReferences},
		{"make-target", "A document that names a make target which is not there sends its reader astray.", makeTargets},
		{"doc-name", "A document that names what a file does not declare describes another program.", docNames},
		{"doc-test", "A test that a document names and that does not exist guards nothing.", docTests},
		{"doc-snippet", "Code in a document that no compiler has seen does not compile.", docSnippets},
		{"doc-linked", "A page that nothing links to is not read.", docsLinked},
		{"example-complete", "A feature without an example that runs is found by reading the source.", examplesComplete},
		{"example-mentioned", "An example that no document mentions is not found.", examplesMentioned},
	}
}
