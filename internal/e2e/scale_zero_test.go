package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A cluster whose workers were all scaled away: the process that only accepts jobs wants one as soon as there is work, and says of
// the job that it waits for workers. When the worker that came finds every target out of order, the process that makes no calls
// itself says so too. Result files are written while no worker is there.
func TestScaleFromZero(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	desired := func(want bool) func() error {
		return func() error {
			if n := c.api.metric(`penstock_desired_workers`); n > 0 != want {
				return fmt.Errorf("%v are wanted", n)
			}
			return nil
		}
	}
	waitingOn := func(job, want string) func() error {
		return func() error {
			a := c.api.endpoint.Do(get("/v1/jobs/" + job))
			var seen struct {
				WaitingOn string `json:"waiting_on"`
			}
			if err := json.Unmarshal([]byte(a.Body), &seen); err != nil || seen.WaitingOn != want {
				return fmt.Errorf("%v %s", err, a.Body)
			}
			return nil
		}
	}
	Await(t, "that nobody is wanted", desired(false))
	early := c.submit("before there is a worker")
	Await(t, "that somebody is wanted", desired(true))
	Await(t, "that the job says so", waitingOn(early, "workers"))
	worker := c.join("worker")
	c.finishes(t, early)

	c.listener.Close()
	Await(t, "that the provider is down", waitingOn(c.submit("in an outage", "another", "and another"), "provider"))

	worker.Kill()
	Await(t, "that no worker is left", waitingOn(c.submit("after all were gone"), "workers"))
	Await(t, "the file of results", func() error {
		a := c.api.endpoint.Do(post("/v1/jobs/"+early+"/results/url", ""))
		if a.Status != http.StatusOK || !strings.Contains(a.Body, "/v1/download/") {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
}
