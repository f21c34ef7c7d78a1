package config_test

import (
	"fmt"

	"penstock/internal/config"
)

func ExampleParse() {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"SEARCH_KEY": "psk_7gq2xk9dmw4ztfv8hsb3rnj6cp"}[name]
		return value, ok
	}
	snapshot, err := config.Parse("penstock.yaml", []byte(`
providers:
  local: {kind: openai, base_url: http://127.0.0.1:11434/v1}
targets:
  small: {provider: local, upstream_model: "llama3.2:3b"}
models:
  fast: {targets: [small]}
tenants:
  search:
    keys: [{name: app, secret: "${SEARCH_KEY}"}]
`), env)
	if err != nil {
		fmt.Println(err)
		return
	}
	caller, ok := snapshot.Principal("psk_7gq2xk9dmw4ztfv8hsb3rnj6cp")
	fmt.Println(caller.Tenant.ID, caller.Key, ok)
	// Output: search app true
}

func ExampleProblems() {
	_, err := config.Parse("penstock.yaml", []byte(`
targets:
  mini: {provder: openai, upstream_model: gpt-4o-mini, price: {input: "0.15"}}
`), func(string) (string, bool) { return "", false })
	fmt.Println(err)
	// Output:
	// penstock.yaml: 3 problems in the configuration:
	//   3:3: targets.mini.provider: is required: the name of a provider
	//   3:10: targets.mini.provder: unknown key; did you mean "provider"?
	//   3:56: targets.mini.price.output: is required in a price, such as "0.15"; that of a free target is "0"
}
