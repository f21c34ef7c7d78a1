package sim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"penstock/internal/sim"
)

// A prompt can ask for a fault that ends by itself, which a retry then survives.
func Example() {
	server, err := sim.New(sim.Config{OutputTokens: 5})
	if err != nil {
		panic(err)
	}
	upstream := httptest.NewServer(server)
	defer upstream.Close()
	defer server.Close() // first, so that no hanging request keeps the listener from closing

	const prompt = "Hello [sim:fault=overloaded times=2]"
	body := `{"model":"any","messages":[{"role":"user","content":"` + prompt + `"}]}`
	for range 3 {
		res, err := http.Post(upstream.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		res.Body.Close()
		fmt.Println(res.Status)
	}
	fmt.Printf("%+v\n", server.Executions(prompt))
	// Output:
	// 503 Service Unavailable
	// 503 Service Unavailable
	// 200 OK
	// {Attempts:3 Completed:1}
}
