package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

var cancelScenarios = []scenario{
	{name: "cancel_before_start", play: cancelBeforeStart, own: true},
	{name: "cancel_while_running", play: cancelWhileRunning, own: true},
	{name: "cancel_after_end", play: cancelAfterEnd},
}

// cancelBeforeStart fills every slot of the server, so that the next job has to wait.
func cancelBeforeStart(s *scene) {
	const slots = 64
	hog := s.submit(`{"model":"hog","inputs":[` + strings.TrimSuffix(strings.Repeat(`{"body":`+ask("hog [sim:fault=hang]")+`},`, slots), ",") + `]}`)
	s.counted(hog, "running", slots)
	id := s.submit(`{"model":"waiting","inputs":[{"custom_id":"a","body":` + ask("still waiting") + `},{"custom_id":"b","body":` + ask("still waiting") + `}]}`)
	s.tell("a job that has not started", get("/v1/jobs/"+id))
	s.tell("is cancelled", post("/v1/jobs/"+id+"/cancel", ""))
	s.tell("once and for all", post("/v1/jobs/"+id+"/cancel", ""))
	s.tell("with a result for each item", get("/v1/jobs/"+id+"/results"))
	s.tell("and an end of its log", get("/v1/jobs/"+id+"/events"))
	if n := s.executions("still waiting"); n != 0 {
		s.Errorf("the cancelled job ran %d times", n)
	}
	s.upstreamServes(slots)
	s.call(post("/v1/jobs/"+hog+"/cancel", ""))
	s.finished(hog)
	s.upstreamLeft(slots)
}

// upstreamServes waits until the upstream is at work on so many calls. It must be the scene's own.
func (s *scene) upstreamServes(want int) {
	s.Helper()
	Await(s, "the upstream to be called", func() error {
		if stats := s.simStats(); stats.InFlight != want {
			return fmt.Errorf("the upstream counts %+v, want %d in flight", stats, want)
		}
		return nil
	})
}

// upstreamLeft waits until the upstream has noticed that so many callers left it, and serves nobody. It must be the
// scene's own.
func (s *scene) upstreamLeft(want int) {
	s.Helper()
	Await(s, "the upstream connections to be closed", func() error {
		if stats := s.simStats(); stats.Cancelled != want || stats.InFlight != 0 {
			return fmt.Errorf("the upstream counts %+v, want %d cancelled", stats, want)
		}
		return nil
	})
}

func cancelWhileRunning(s *scene) {
	id := s.submit(`{"model":"running","inputs":[{"custom_id":"done","body":` + ask("cancel keeps this") +
		`},{"custom_id":"stopped","body":` + ask("cancel stops this [sim:fault=hang]") + `}]}`)
	s.counted(id, "succeeded", 1)
	s.counted(id, "running", 1)
	s.upstreamServes(1)
	s.tell("results before the end", get("/v1/jobs/"+id+"/results"))
	live, err := s.open(s.Context(), get("/v1/jobs/"+id+"/events"))
	if err != nil {
		s.Fatal(err)
	}
	defer live.Body.Close()
	cancelled := s.tell("cancelled while it runs", post("/v1/jobs/"+id+"/cancel", ""))
	followed, err := io.ReadAll(live.Body)
	if err != nil {
		s.Fatal(err)
	}
	s.tell("the job", get("/v1/jobs/"+id))
	s.tell("its results", get("/v1/jobs/"+id+"/results"))
	if log := s.tell("its log", get("/v1/jobs/"+id+"/events")); log.Body != string(followed) {
		s.Errorf("followed live, the log was\n%s", followed)
	}
	again := s.call(post("/v1/jobs/"+id+"/cancel", ""))
	if s.field(again, "cancel_requested_at") != s.field(cancelled, "cancel_requested_at") {
		s.Error("a second cancel changed when the first one was asked for")
	}
	var item string
	for line := range strings.Lines(s.call(get("/v1/jobs/" + id + "/results?status=cancelled")).Body) {
		item = s.field(Answer{Body: line}, "item_id")
	}
	s.tell("the item that was stopped", get("/v1/items/"+item))
	s.upstreamLeft(1)
}

func cancelAfterEnd(s *scene) {
	a := s.call(post("/v1/jobs", `{"model":"over","input":"cancel comes too late"}`, "Prefer", "wait=30"))
	late := s.tell("cancelled after its end", post("/v1/jobs/"+s.field(a, "id")+"/cancel", ""))
	if late.Status != http.StatusOK || late.Body != a.Body {
		s.Errorf("the cancel changed the job from\n%s", a.Body)
	}
}
