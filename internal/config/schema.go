package config

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema of the configuration file, for editors and CI. A test generates it from [File] and the
// comments of its fields. It accepts every valid file; it does not find all that [Parse] refuses, such as a name that
// refers to nothing.
func Schema() []byte { return append([]byte(nil), schema...) }
