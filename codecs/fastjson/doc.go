// Package fastjson is a JSON codec that means what encoding/json means, and takes about a sixth of its instructions.
//
//	orders := wherry.NewTopic("orders", fastjson.New[Order]())
//
// It accepts the bodies that encoding/json accepts and refuses the others, decodes to the same values and writes the same
// bytes. Changing a topic from codec.JSON to this codec and back changes nothing that anybody can see but the time.
//
// # How
//
// The type decides once, in [New]. Structs, slices and maps with string keys, of strings, booleans, numbers, pointers and
// each other, are fast. A type that contains anything else (a method of its own for JSON or text, as time.Time has; an
// interface, an array, a []byte, an embedded struct, a recursion; a tag with options other than omitempty; names that
// differ in case alone) is left to encoding/json as a whole. [Codec.Slow] says so and why.
//
// The body decides each time, by a scan that checks its grammar in one pass. The plain form, which nearly all programs
// write, is fast: the fields of a struct of nothing but strings, booleans and numbers are set by the scan itself, and every
// other type is decoded by github.com/segmentio/encoding/json, which does not see the members that no field wants. A body
// with an escape in a string, a null, a repeated or differently spelled name of a field, a fraction for an integer, an
// integer above the largest int64, or an error anywhere goes to encoding/json.
//
// What is written goes through the same library, and to encoding/json when that fails.
//
// Values are owned: nothing of the body is kept.
package fastjson
