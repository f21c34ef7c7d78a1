package request

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/provider"
)

// Whatever fails, breaks or is cancelled at whatever stage of a call: at its end nothing is held, and all of it was settled once.
func TestNothingIsHeldAfterACall(t *testing.T) {
	t.Parallel()
	const seeds, rounds = 40, 25
	var ends sync.Map
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			p := &property{rig: newRig(t), rand: rand.New(rand.NewPCG(seed, 14)), ends: &ends}
			for range rounds {
				p.round()
			}
		})
	}
	for _, want := range []string{"started", "refused", "panicked", "closed", "recorded", "lost"} {
		if _, seen := ends.Load(want); !seen {
			t.Errorf("no call was %s: the test shows less than it should", want)
		}
	}
}

// property runs calls with random faults.
type property struct {
	*rig
	rand *rand.Rand
	ends *sync.Map
}

// bodies are what the calls ask for.
var bodies = []struct {
	endpoint penstock.Endpoint
	text     string
}{
	{penstock.EndpointChat, `{"model":"fast","messages":[]}`},
	{penstock.EndpointChat, `{"model":"fast","messages":[],"stream":true}`},
	{penstock.EndpointEmbeddings, `{"model":"fast","input":"Hi"}`},
}

// round runs one to three calls at once, and looks at what is held when all of them are over.
func (p *property) round() {
	p.records.fault = p.fault(func() {})
	var all sync.WaitGroup
	question, mode := bodies[p.rand.IntN(len(bodies))], []CacheMode{CacheOff, CacheOff, CacheUse, CacheRefresh}[p.rand.IntN(4)]
	for range 1 + p.rand.IntN(3) {
		order := p.order(question.endpoint, question.text)
		order.Cache, order.Free = mode, p.rand.IntN(8) == 0
		ctx, cancel := context.WithCancel(p.t.Context())
		f := p.fault(cancel)
		finish := p.rand.IntN(8) > 0
		all.Go(func() {
			defer cancel()
			ctx = context.WithValue(context.WithValue(ctx, faultKey{}, f), callKey{}, order.ID)
			p.call(ctx, order, f, finish)
		})
	}
	all.Wait()
	synctest.Wait() // for calls upstream that go on for nobody
	if lost, recorded := p.checkNothingHeld(); lost > 0 {
		p.ends.Store("lost", true)
	} else if recorded > 0 {
		p.ends.Store("recorded", true)
	}
}

// fault makes something happen at a random stage, or nothing at all.
func (p *property) fault(cancel func()) *fault {
	kinds := []provider.Kind{provider.KindServer, provider.KindRejected, provider.KindRateLimited, provider.KindTruncated, provider.KindCancelled}
	failure := &provider.Error{Kind: kinds[p.rand.IntN(len(kinds))], Message: "It fails."}
	f := &fault{at: stages[p.rand.IntN(len(stages))], after: p.rand.IntN(3)}
	switch p.rand.IntN(4) {
	case 0:
		f.act = func() error { cancel(); return nil }
	case 1:
		f.act = func() error { panic(errFault) }
	case 2:
		f.act = func() error { return errFault }
		if f.at == atCall || f.at == atNext {
			f.act = func() error { return failure }
		}
	default:
		return nil
	}
	return f
}

// call runs one call to its end.
func (p *property) call(ctx context.Context, order Order, f *fault, finish bool) {
	defer func() {
		if recover() != nil {
			p.ends.Store("panicked", true)
		}
	}()
	var err error
	if order.Permit, err = p.Permit(ctx, &p.principal); err != nil {
		p.t.Errorf("there was no permit: %v", err)
		return
	}
	running, err := p.Start(ctx, p.principal, order, &kept{fault: f})
	if err != nil {
		p.ends.Store("refused", true)
		return
	}
	p.ends.Store("started", true)
	if finish {
		running.Finish(ctx)
	} else {
		p.ends.Store("closed", true)
	}
	running.Close(ctx)
}

// checkNothingHeld looks at all that a call can hold. It returns how many reservations were lost and settled: those of calls without a
// record, and those of all others.
func (r *rig) checkNothingHeld() (lost, settled int) {
	r.t.Helper()
	for _, s := range r.targets.Status() {
		if s.Running != 0 {
			r.t.Errorf("%d calls hold capacity of target %s", s.Running, s.Target)
		}
	}
	for _, s := range r.limits.LimitScopeStatuses() {
		for _, l := range s.Limits {
			if l.Resource == capacity.Permits && l.Used != 0 {
				r.t.Errorf("%v of the permits of %v are held", l.Used, s.Name)
			}
		}
	}
	if r.records.places != 0 {
		r.t.Errorf("%d places for records are held", r.records.places)
	}
	return r.checkMoney()
}

// checkMoney compares the budget with the records: what was recorded is spent, and what a call without a record had set aside stays
// withdrawn. A reservation that was settled twice, or never, makes a difference.
func (r *rig) checkMoney() (lost, settled int) {
	r.t.Helper()
	over, end := context.WithCancel(context.WithoutCancel(r.t.Context()))
	end()
	if err := r.budgets.Run(over); err != nil { // at its end, it returns all that no call has set aside
		r.t.Error(err)
	}
	recorded := map[penstock.ID]bool{}
	var spent, held penstock.NanoUSD
	for _, req := range r.records.got {
		if recorded[req.ID] {
			r.t.Errorf("the call %s was recorded twice", req.ID)
		}
		if recorded[req.ID] = true; len(req.Funding.Budgets) > 0 {
			spent += req.Cost + req.Forfeit
		}
	}
	for id, most := range r.budgets.reserved {
		switch unwritten, known := r.records.unwritten[id]; {
		case recorded[id]:
			settled++
			continue
		case known:
			held += unwritten
		default:
			held += most
		}
		lost++
	}
	if got := r.bank.balance; got.Held != held || got.Settled != spent {
		r.t.Errorf("$%s are held and $%s spent; want $%s for calls that broke off, and $%s by the records", got.Held, got.Settled, held, spent)
	}
	return lost, settled
}
