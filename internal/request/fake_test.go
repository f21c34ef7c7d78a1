package request

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/attempt"
	"penstock/internal/body"
	"penstock/internal/budget"
	"penstock/internal/cache"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/limit"
	"penstock/internal/provider"
	"penstock/internal/route"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// stage is a moment of a call at which a test makes something happen.
type stage string

const (
	atAdmission stage = "admission"
	atAdmitted  stage = "admitted"
	atPlace     stage = "place"
	atReserve   stage = "reserve"
	atCall      stage = "upstream call"
	atNext      stage = "next chunk"
	atClose     stage = "close of the answer"
	atBegin     stage = "begin"
	atChunk     stage = "chunk"
	atFail      stage = "fail"
	atEnd       stage = "end"
	atRecord    stage = "record"
)

// stages are all moments. An error is only possible where a method returns one.
var stages = []stage{atAdmission, atAdmitted, atPlace, atReserve, atCall, atNext, atClose, atBegin, atChunk, atFail, atEnd, atRecord}

// fault is what happens at a stage of a call, the n-th time that the call comes there.
type fault struct {
	at     stage
	after  int // how often the call passes the stage before
	act    func() error
	passed atomic.Int32
}

// faultKey and callKey are where the context of a call has its fault and its id.
type (
	faultKey struct{}
	callKey  struct{}
)

// hit makes the fault of a call happen if its stage has come.
func hit(ctx context.Context, at stage) error {
	f, _ := ctx.Value(faultKey{}).(*fault)
	return f.hit(at)
}

func (f *fault) hit(at stage) error {
	if f == nil || f.at != at {
		return nil
	}
	if int(f.passed.Add(1)) != f.after+1 {
		return nil
	}
	return f.act()
}

// upstream is a provider that answers in chunks, in this process.
type upstream struct{ chunks []string }

func (u upstream) Provider(string) (provider.Provider, bool) { return u, true }
func (u upstream) Speaks(penstock.Endpoint) bool             { return true }

func (u upstream) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	if err := hit(ctx, atCall); err != nil {
		return nil, err
	}
	if call.Endpoint == penstock.EndpointEmbeddings {
		return &chunks{ctx: ctx, left: []string{embeddingOf(call.Body)}}, nil
	}
	if !call.Stream {
		return &chunks{ctx: ctx, left: []string{`{"choices":[{"message":{"content":"Hello you"}}]}`}}, nil
	}
	return &chunks{ctx: ctx, left: u.chunks}, nil
}

// embeddingOf answers a call of one or several inputs.
func embeddingOf(sent []byte) string {
	o, err := body.Scan(sent)
	if err != nil || len(o.Raw("input")) == 0 || o.Raw("input")[0] != '[' {
		return `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1]}],"usage":{"prompt_tokens":10,"total_tokens":10}}`
	}
	return `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1]},{"object":"embedding","index":1,"embedding":[2]}],"usage":{"prompt_tokens":20,"total_tokens":20}}`
}

type chunks struct {
	ctx  context.Context
	left []string
}

func (c *chunks) Next() (provider.Chunk, error) {
	if err := hit(c.ctx, atNext); err != nil {
		return provider.Chunk{}, err
	}
	if c.ctx.Err() != nil {
		return provider.Chunk{}, &provider.Error{Kind: provider.KindCancelled, Message: "cancelled", Err: c.ctx.Err()}
	}
	if len(c.left) == 0 {
		return provider.Chunk{}, io.EOF
	}
	wire := c.left[0]
	c.left = c.left[1:]
	return provider.Chunk{Wire: []byte(wire), Text: wire, Last: len(c.left) == 0}, nil
}

func (c *chunks) Meta() provider.Meta {
	return provider.Meta{StatusCode: http.StatusOK, ContentType: "application/json", UsageKnown: true, Usage: penstock.Usage{InputTokens: 10, OutputTokens: 20}}
}

func (c *chunks) Close() error { return hit(c.ctx, atClose) }

// admission is the real admission, with faults before it.
type admission struct{ *admit.Service }

func (a admission) Request(ctx context.Context, p penstock.Principal, o admit.RequestOrder) (admit.Admitted, error) {
	if err := hit(ctx, atAdmission); err != nil {
		return admit.Admitted{}, err
	}
	return a.Service.Request(ctx, p, o)
}

// budgets are the real ones, with faults before them. They remember the reservations that they gave out.
type budgets struct {
	*budget.Reserver
	mu       sync.Mutex
	reserved map[penstock.ID]penstock.NanoUSD
}

func (b *budgets) Reserve(ctx context.Context, d budget.Demand) (budget.Reservation, error) {
	if err := hit(ctx, atReserve); err != nil {
		return budget.Reservation{}, err
	}
	got, err := b.Reserver.Reserve(ctx, d)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		id, _ := ctx.Value(callKey{}).(penstock.ID)
		b.reserved[id] += got.Most
	}
	return got, err
}

// bank is the store of one budget.
type bank struct {
	store.Budgets
	mu      sync.Mutex
	balance store.Balance
}

func (b *bank) Hold(_ context.Context, _ penstock.TenantID, o store.BudgetDraw) ([]store.BudgetGrant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := o.Wants[0]
	got, ok := b.balance.Hold(w.Need, w.Want)
	if !ok {
		return nil, w.Account.Exceeded(b.balance, w.Need)
	}
	return []store.BudgetGrant{{Amount: got, Balance: b.balance}}, nil
}

func (b *bank) ReturnBudgets(_ context.Context, _ store.Lease, returns []store.BudgetReturn) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range returns {
		b.balance.Spend(r.Amount, 0)
	}
	return nil
}

// records keeps records in memory, and counts places.
type records struct {
	bank  *bank
	fault *fault // of all calls: a place belongs to no call

	mu        sync.Mutex
	places    int
	got       []penstock.Request
	unwritten map[penstock.ID]penstock.NanoUSD // what the calls spent whose record was refused by a panic
}

func (r *records) Place() error {
	if err := r.fault.hit(atPlace); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places++
	return nil
}

func (r *records) Leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places--
}

func (r *records) Add(req penstock.Request) {
	defer func() {
		if p := recover(); p != nil {
			r.mu.Lock()
			r.unwritten[req.ID] = req.Cost + req.Forfeit
			r.mu.Unlock()
			panic(p)
		}
	}()
	if err := r.fault.hit(atRecord); err != nil {
		panic(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places--
	r.got = append(r.got, req)
	r.bank.mu.Lock()
	defer r.bank.mu.Unlock()
	spent := req.Cost + req.Forfeit
	if len(req.Funding.Budgets) > 0 {
		r.bank.balance.Spend(spent, spent)
	}
}

func (r *records) Request(_ context.Context, _ penstock.TenantID, id penstock.ID) (penstock.Request, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, req := range r.got {
		if req.ID == id {
			return req, nil
		}
	}
	return penstock.Request{}, penstock.Errorf(penstock.CodeNotFound, "There is none.")
}

// open are controls by which operators pause nothing.
type open struct{}

func (open) Paused(store.ControlKind, string) (store.Control, bool) { return store.Control{}, false }
func (open) Open(targets []string) []string                         { return targets }

// rig is a service over an upstream in this process. Nothing of it speaks HTTP.
type rig struct {
	*Service
	t         *testing.T
	principal penstock.Principal
	targets   *capacity.Tracker
	limits    *capacity.Tracker
	budgets   *budgets
	bank      *bank
	records   *records
	ids       penstock.IDs
}

func newRig(t *testing.T, edit ...func(*attempt.Deps)) *rig {
	t.Helper()
	snapshot, err := config.NewSnapshot(config.File{
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI}},
		Targets: map[string]config.TargetConfig{
			"a": {Provider: "up", UpstreamModel: "a", MaxOutputTokens: 100, Price: config.Price{Input: "1", Output: "2"}, Limits: config.TargetLimits{Concurrency: 100}},
			"b": {Provider: "up", UpstreamModel: "b", MaxOutputTokens: 100, Price: config.Price{Input: "1", Output: "2"}, Limits: config.TargetLimits{Concurrency: 100}},
		},
		Models: map[string]config.ModelConfig{"fast": {Targets: []string{"a", "b"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	live, log, metrics := config.NewLive(snapshot), slog.New(slog.DiscardHandler), telemetry.NewMetrics("test", "")
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	const most = penstock.NanoUSD(1_000_000_000)
	r := &rig{
		t: t, targets: capacity.New(capacity.Config{Clock: time.Now}), limits: capacity.New(capacity.Config{Clock: time.Now}),
		bank: &bank{balance: store.Balance{Limit: most}},
		principal: penstock.Principal{Key: "app", Scopes: penstock.Scopes, Limits: penstock.Limits{Concurrency: 50}, Tenant: penstock.Tenant{
			ID: "acme", Lanes: penstock.Lanes, Limits: penstock.Limits{Concurrency: 50},
			ModelLimits: map[string]penstock.Limits{"fast": {Concurrency: 50}},
			Budgets:     []penstock.Budget{{Period: penstock.PeriodTotal, Limit: most}},
		}},
	}
	r.records = &records{bank: r.bank, unwritten: map[penstock.ID]penstock.NanoUSD{}}
	r.budgets = &budgets{reserved: map[penstock.ID]penstock.NanoUSD{}, Reserver: budget.New(budget.Deps{
		Store: r.bank, Lease: func() store.Lease { return store.Lease{Process: "p", Epoch: 1} }, Metrics: metrics, Log: log, Clock: time.Now,
	})}
	deps := attempt.Deps{
		Config: live, Providers: upstream{[]string{"data: Hello\n\n", "data:  you\n\n", "data: [DONE]\n\n"}}, Router: route.New(r.targets), Metrics: metrics, Tracer: tracer, Log: log, Clock: time.Now,
	}
	for _, e := range edit {
		e(&deps)
	}
	r.Service = New(Deps{
		Config: live, Budgets: r.budgets, Recorder: r.records, Metrics: metrics, Clock: time.Now, Status: func(penstock.Code) int { return 599 },
		Admit:  admission{admit.New(admit.Deps{Config: live, Controls: open{}, Limits: limit.New(r.limits, nil), Metrics: metrics, Clock: time.Now})},
		Cache:  cache.New(cache.Config{MaxBytes: 1 << 20, MaxEntryBytes: 1 << 17, Clock: time.Now}),
		Runner: attempt.New(deps),
	})
	return r
}

// order is a chat, or an embedding, as its dialect would have read it.
func (r *rig) order(endpoint penstock.Endpoint, text string) Order {
	r.t.Helper()
	object, err := body.Scan([]byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	stream, err := object.Bool("stream")
	if err != nil {
		r.t.Fatal(err)
	}
	return Order{
		ID: r.ids.New(time.Now()), Endpoint: endpoint, Cache: CacheOff,
		Inference: &dialect.Inference{Model: "fast", Object: object, Stream: stream, Choices: 1, Silent: endpoint == penstock.EndpointEmbeddings},
	}
}

// kept is a sink that keeps what it is given.
type kept struct {
	fault   *fault
	head    Head
	text    string
	failure *Failure
	ended   bool
}

func (k *kept) Admitted(Admittance) { k.must(atAdmitted) }

func (k *kept) Begin(h Head) error {
	k.head = h
	return k.fault.hit(atBegin)
}

func (k *kept) Chunk(c provider.Chunk) error {
	k.text += string(c.Wire)
	return k.fault.hit(atChunk)
}

func (k *kept) Fail(f Failure) bool {
	k.failure = &f
	k.must(atFail)
	return false
}

func (k *kept) End(penstock.NanoUSD) {
	k.must(atEnd)
	k.ended = true
}

// must makes a fault happen where no error can be returned: it is a panic then.
func (k *kept) must(at stage) {
	if err := k.fault.hit(at); err != nil {
		panic(err)
	}
}

var errFault = errors.New("a fault of the test")
