package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"penstock/client"
)

// promptFlags name a prompt of the registry.
type promptFlags struct {
	name, file string
	pairs      []string
}

func (o *promptFlags) add(f *pflag.FlagSet) {
	f.StringVar(&o.name, "prompt", "", "prompt of the registry, as `NAME`, NAME@LABEL or NAME@VERSION")
	f.StringArrayVar(&o.pairs, "var", nil, "a variable of the prompt with a string, as `NAME=VALUE`; may be repeated")
	f.StringVar(&o.file, "vars", "", "read variables of the prompt as a JSON object from `PATH`; - is stdin")
}

// read returns the prompt, nil for none.
func (o *promptFlags) read(sh *shell) (*client.PromptRef, error) {
	if o.name == "" {
		if o.file != "" || len(o.pairs) > 0 {
			return nil, usageError{"--var and --vars belong to a prompt; add --prompt"}
		}
		return nil, nil
	}
	ref, err := client.ParsePromptRef(o.name)
	if err != nil {
		return nil, usageError{fmt.Sprintf("--prompt: %v", err)}
	}
	ref.Variables, err = sh.readVariables(o.file, o.pairs)
	return ref, err
}
