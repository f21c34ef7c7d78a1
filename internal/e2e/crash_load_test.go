package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"penstock"
)

// client is one of several that use the server at the same time, whatever happens to it.
type client struct {
	*diary
	endpoint *Server
	random   *rand.Rand
	name     string
	mood     mood
	brittle  bool // the server may break, and say so
	count    int  // of what it has begun
}

// mood is how clients behave.
type mood int

const (
	wild mood = iota // they ask for what fails, cancel, set short deadlines and leave early
	calm             // whatever they ask for succeeds at once, and they wait for it
)

// clients is how many there are. They wait for answers, so this also bounds the load.
const clients = 8

// crowd lets clients work until stop is closed, and then finish what they are at.
func (r *rig) crowd(d *diary, m mood, stop <-chan struct{}) *sync.WaitGroup {
	ctx := r.t.Context()
	var crowd sync.WaitGroup
	for n := range clients {
		c := r.client(d, m)
		c.name = fmt.Sprintf("client%d", n)
		c.random = rand.New(rand.NewPCG(r.seed, uint64(n)+1))
		crowd.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-stop:
					return
				default:
					c.act(ctx)
					c.pause(ctx, 40*time.Millisecond)
				}
			}
		})
	}
	return &crowd
}

// client returns one more client, which shares the rig's randomness.
func (r *rig) client(d *diary, m mood) *client {
	return &client{diary: d, endpoint: r.endpoint, mood: m, brittle: r.brittle, random: r.random}
}

// pause waits a random time up to most.
func (c *client) pause(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(c.upTo(most))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (c *client) upTo(most time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(most))) + 1
}

// chance reports true in so many of a hundred cases.
func (c *client) chance(percent int) bool { return c.random.IntN(100) < percent }

// act does one of the things that clients do.
func (c *client) act(ctx context.Context) {
	c.count++
	name := fmt.Sprintf("%s-%d", c.name, c.count)
	switch {
	case c.chance(12):
		c.chat(ctx, name)
		return
	case c.chance(8):
		c.chatWithKey(ctx, name)
		return
	}
	o := c.newOrder(name)
	id := c.submit(ctx, o)
	switch {
	case id == "" || c.chance(25):
		return // never heard of, or left alone
	case c.mood == wild && c.chance(20):
		c.pause(ctx, 60*time.Millisecond)
		c.cancelJob(ctx, o, id)
	case c.chance(40):
		c.follow(ctx, id)
	default:
		c.await(ctx, id)
	}
	c.readResults(ctx, id)
}

// newOrder makes up a job of 1 to 20 items, most of them harmless.
func (c *client) newOrder(name string) *order {
	o := &order{name: name, ids: map[string]bool{}, hasty: c.mood == wild && c.chance(8)}
	// A hasty order has no key: sent again after its deadline, it would be refused.
	if !o.hasty && c.chance(60) {
		o.key = "key-" + name
	}
	items := 1 + c.random.IntN(3)
	if c.chance(40) {
		items = 1 + c.random.IntN(20)
	}
	for n := range items {
		o.inferences = append(o.inferences, c.newInference(fmt.Sprintf("%s item %d", name, n)))
	}
	if o.hasty {
		// It fails over and over, and waits in between: that is when its deadline comes.
		o.inferences[0] = inference{prompt: name + " [sim:fault=server_error]", fails: penstock.CodeUpstreamError}
	}
	c.note(func() { c.orders[name] = o })
	return o
}

// newInference makes up one inference. Its prompt is like no other, so that its executions can be counted.
func (c *client) newInference(text string) inference {
	roll := c.random.IntN(100)
	if c.mood == calm {
		roll = 50 + roll*30/100 // only what succeeds, and more of what is slow or large
	}
	switch {
	case roll < 60:
		return inference{prompt: text + " [sim:tokens=5]"}
	case roll < 68:
		return inference{prompt: fmt.Sprintf("%s [sim:tokens=5 latency=%dms]", text, 100+c.random.IntN(300)), slow: true}
	case roll < 77:
		return inference{prompt: text + " [sim:tokens=5] " + c.noise(48<<10)}
	case roll < 80:
		return inference{prompt: text + " [sim:tokens=30000]"}
	case roll < 92:
		return inference{prompt: fmt.Sprintf("%s [sim:tokens=5 fault=server_error times=%d]", text, 1+c.random.IntN(3))}
	case roll < 96:
		return inference{prompt: text + " [sim:fault=bad_request]", fails: penstock.CodeUpstreamRejected}
	default:
		return inference{prompt: text + " [sim:fault=server_error]", fails: penstock.CodeUpstreamError}
	}
}

// noise is text that does not get smaller by compression, so that its size decides where it is stored.
func (c *client) noise(bytes int) string {
	raw := make([]byte, bytes)
	for i := range raw {
		raw[i] = byte(c.random.Uint32())
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// maxAttempts lets an inference fail on both targets, wait, fail on one of them again, and then succeed.
const maxAttempts = 4

func (c *client) orderBody(o *order) string {
	inputs := make([]any, len(o.inferences))
	for i, a := range o.inferences {
		inputs[i] = map[string]any{"custom_id": fmt.Sprintf("row-%d", i), "body": chatBody(a.prompt)}
	}
	body := map[string]any{"model": "fast", "inputs": inputs, "tags": map[string]string{"order": o.name}, "max_attempts": maxAttempts}
	if o.hasty {
		body["deadline"] = time.Now().Add(200*time.Millisecond + c.upTo(400*time.Millisecond))
	}
	return encoded(body)
}

func chatBody(prompt string) map[string]any {
	return map[string]any{"messages": []any{map[string]string{"role": "user", "content": prompt}}}
}

// submit sends an order until it is answered, if its key makes that safe, and otherwise once. It
// returns the job's id, or "" if that was never learned.
func (c *client) submit(ctx context.Context, o *order) string {
	call := Call{Method: http.MethodPost, Path: "/v1/jobs", Body: c.orderBody(o), Header: map[string]string{}}
	if o.key != "" {
		call.Header["Idempotency-Key"] = o.key
	}
	if c.chance(15) {
		call.Header["Prefer"] = "wait=1"
	}
	for ctx.Err() == nil {
		c.note(func() { o.sent++ })
		answer, err := c.try(ctx, call, 15*time.Millisecond)
		switch {
		case err == nil && (answer.Status == http.StatusAccepted || answer.Status == http.StatusOK):
			id := c.accepted(o, answer)
			if o.key == "" || !c.chance(20) {
				return id
			}
			// A client that did not trust the answer sends it once more: the same job must come back.
		case err == nil && !c.later(answer):
			if !o.hasty || answer.Status != http.StatusBadRequest { // its deadline may have come on the way
				c.problem("submitting %s was answered with %d: %s", o.name, answer.Status, answer.Body)
			}
			return ""
		case o.key == "":
			return ""
		}
		c.pause(ctx, 40*time.Millisecond)
	}
	return ""
}

func (c *client) accepted(o *order, answer Answer) string {
	job, err := decoded[jobAnswer](answer.Body)
	if err != nil {
		c.problem("submitting %s: %v", o.name, err)
		return ""
	}
	c.note(func() { o.ids[job.ID] = true })
	c.seeJob(job)
	if job.Tags["order"] != o.name || job.Counts.Total != len(o.inferences) {
		c.problem("order %s of %d items was answered with another job: %s", o.name, len(o.inferences), answer.Body)
	}
	return job.ID
}

// try makes a call. Some clients are in a hurry and leave within haste.
func (c *client) try(ctx context.Context, call Call, haste time.Duration) (Answer, error) {
	limit := patience
	if c.mood == wild && c.chance(10) {
		limit = c.upTo(haste)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.endpoint.Try(ctx, call)
}

// later reports whether an answer means that the same call may succeed later.
func (c *client) later(a Answer) bool {
	switch a.Status {
	case http.StatusServiceUnavailable, http.StatusConflict:
		return true
	case http.StatusInternalServerError:
		return c.brittle
	}
	return false
}

// cancelJob cancels until it is confirmed.
func (c *client) cancelJob(ctx context.Context, o *order, id string) {
	for ctx.Err() == nil {
		c.note(func() { o.cancel = max(o.cancel, cancelSent) })
		answer, err := c.try(ctx, Call{Method: http.MethodPost, Path: "/v1/jobs/" + id + "/cancel"}, 15*time.Millisecond)
		if err == nil && !c.later(answer) {
			job, err := decoded[jobAnswer](answer.Body)
			if answer.Status != http.StatusOK || err != nil {
				c.problem("cancelling %s was answered with %d: %s", id, answer.Status, answer.Body)
				return
			}
			if !job.CancelRequestedAt.IsZero() {
				c.note(func() { o.cancel = cancelHeard })
			}
			c.seeJob(job)
			return
		}
		c.pause(ctx, 40*time.Millisecond)
	}
}

// read gets something that must be there, as often as it takes. Only the end of ctx stops it.
func (c *client) read(ctx context.Context, call Call) (Answer, bool) {
	for ctx.Err() == nil {
		answer, err := c.endpoint.Try(ctx, call)
		switch {
		case err == nil && answer.Status < http.StatusMultipleChoices:
			return answer, true
		case err == nil && !c.later(answer):
			c.problem("%s %s was answered with %d: %s", call.Method, call.Path, answer.Status, answer.Body)
			return answer, false
		}
		c.pause(ctx, 40*time.Millisecond)
	}
	return Answer{}, false
}

// await polls a job until it is finished, or its client has better things to do.
func (c *client) await(ctx context.Context, id string) {
	for range 3 {
		answer, ok := c.read(ctx, Call{Method: http.MethodGet, Path: "/v1/jobs/" + id, Header: map[string]string{"Prefer": "wait=1"}})
		if !ok {
			return
		}
		job, err := decoded[jobAnswer](answer.Body)
		if err != nil {
			c.problem("polling %s: %v", id, err)
			return
		}
		c.seeJob(job)
		if !job.FinishedAt.IsZero() {
			return
		}
	}
}

// readResults reads what is finished by now.
func (c *client) readResults(ctx context.Context, id string) {
	answer, ok := c.read(ctx, Call{Method: http.MethodGet, Path: "/v1/jobs/" + id + "/results"})
	if !ok {
		return
	}
	lines, err := results(answer.Body)
	if err != nil {
		c.problem("results of %s: %v", id, err)
	}
	for _, line := range lines {
		c.see(line)
	}
}

// follow reads a job's events over kills: each time it comes back, the log must go on where it was cut.
func (c *client) follow(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var last int64
	for ctx.Err() == nil {
		// What arrived before the stream was cut counts, so the error does not matter.
		answer, _ := c.endpoint.Try(ctx, Call{Method: http.MethodGet, Path: "/v1/jobs/" + id + "/events",
			Header: map[string]string{"Last-Event-ID": fmt.Sprint(last)}})
		if answer.Status != http.StatusOK {
			c.pause(ctx, 40*time.Millisecond)
			continue
		}
		got, err := events(answer.Body)
		if err != nil {
			c.problem("events of %s: %v", id, err)
			return
		}
		for _, e := range got {
			if last++; e.Seq != last {
				c.problem("event %d of %s came where %d was due: %+v", e.Seq, id, last, e)
				return
			}
			if e.Type == penstock.EventJobFinished {
				return
			}
		}
	}
}

// chat makes a plain synchronous call. It is not durable: nobody is promised anything before its answer.
func (c *client) chat(ctx context.Context, name string) {
	body := chatBody(name + " [sim:tokens=5]")
	body["model"] = "fast"
	answer, err := c.endpoint.Try(ctx, Call{Method: http.MethodPost, Path: "/v1/chat/completions", Body: encoded(body)})
	if err != nil || c.later(answer) {
		return
	}
	if _, err := chatContent([]byte(answer.Body)); answer.Status != http.StatusOK || err != nil {
		c.problem("chat %s was answered with %d: %s", name, answer.Status, answer.Body)
		return
	}
	c.note(func() { c.calls[answer.Header.Get("X-Request-Id")] = time.Now() })
}

// chatWithKey makes a synchronous call that must not run twice, until it is answered. Now and then it is
// made once more, and must be answered alike.
func (c *client) chatWithKey(ctx context.Context, name string) {
	prompt := name + " [sim:tokens=5]"
	body := chatBody(prompt)
	body["model"] = "fast"
	call := Call{Method: http.MethodPost, Path: "/v1/chat/completions", Body: encoded(body),
		Header: map[string]string{"Idempotency-Key": "key-" + name}}
	ch := &chat{inference: inference{prompt: prompt}, ids: map[string]bool{}}
	c.note(func() { c.chats[name] = ch })
	for ctx.Err() == nil {
		answer, err := c.try(ctx, call, 50*time.Millisecond)
		switch {
		case err == nil && answer.Status == http.StatusOK:
			c.answered(ch, answer)
			if !c.chance(20) {
				return
			}
		case err == nil && !c.later(answer):
			c.problem("chat %s with a key was answered with %d: %s", name, answer.Status, answer.Body)
			return
		}
		c.pause(ctx, 40*time.Millisecond)
	}
}

func (c *client) answered(ch *chat, answer Answer) {
	told, err := chatContent([]byte(answer.Body))
	if answer.Status == http.StatusOK && (err != nil || (ch.told != "" && ch.told != told)) {
		c.problem("%s was answered with %q, and then with %s", ch.prompt, ch.told, answer.Body)
	}
	c.note(func() {
		ch.told = told
		ch.ids[strings.TrimPrefix(answer.Header.Get("Location"), "/v1/jobs/")] = true
	})
}
