package store

import (
	"slices"

	"penstock"
	"penstock/internal/fair"
)

// Want is a request to claim items. It is plain data: a claim calls no other code from inside its transaction.
type Want struct {
	Lanes []penstock.Lane // in the order they are served; other lanes are not claimed from
	Limit int             // items at the most
	// LimitNotUrgent bounds the items outside the realtime lane; 0 for Limit alone.
	LimitNotUrgent int
	// Models are those whose items are wanted; none means all. ExceptModels and ExceptTenants are left
	// alone: their targets have no capacity, or an operator paused them.
	Models        []string
	ExceptModels  []string
	ExceptTenants []penstock.TenantID
	// Reserved are the calls that were reserved at targets for this claim. A claim takes an item only if a reserved call is
	// left for it, so that no claimed item waits for capacity; nil takes all items. Items for which no call is left do not
	// hold up others: the claim leaves alone what the tenant has of that model and endpoint. A claim that finds no call too
	// often leaves the lane.
	Reserved []Reserved
	// Expected says how many tokens an item will probably use, which its tenant is charged for until Corrections say
	// better; nil charges its estimate.
	Expected fair.Expectations
	// Corrections are what earlier claims used beyond their estimates, or below them.
	Corrections []Correction
	// AfterTenant is the tenant that was served last, for ClaimSuspects.
	AfterTenant penstock.TenantID
}

// charge is how many tokens the tenant of an item is charged for it.
func (w Want) charge(c Candidate) int64 {
	if w.Expected == nil {
		return fair.Tokens(c.Estimate)
	}
	return fair.Tokens(w.Expected.Of(c.Model, c.Estimate))
}

// Ready is how many items of a model could be claimed, had their targets capacity.
type Ready struct {
	Model    string
	Endpoint penstock.Endpoint // "" when the items may be of any
	Items    int
	// Estimate and InputBytes are averages over the items.
	Estimate   int64
	InputBytes int64
}

// Reserved is a number of calls that were reserved at one target for items of one model.
type Reserved struct {
	Model     string
	Target    string              // "" for items that need no capacity, because no target serves them any more
	Endpoints []penstock.Endpoint // that the target serves; nil for all
	Calls     int
	// InputTokens were reserved for all of the calls together; 0 where the target does not count them. The last item may
	// go beyond them: an item can be larger than the average.
	InputTokens int64
	// SharedInputs and SharedTokens bound the embeddings of one tenant and lane that share a call; SharedInputs below 2
	// shares none.
	SharedInputs int
	SharedTokens int64
}

// MaxOffer is the largest number of items of a job that starts as it is accepted. Larger jobs would not gain from it.
const MaxOffer = 4

// Candidate is an item that a claim is about to take.
type Candidate struct {
	Item       penstock.ID
	Tenant     penstock.TenantID
	Model      string
	Lane       penstock.Lane
	Endpoint   penstock.Endpoint
	Estimate   int64 // upper bound of its tokens
	InputBytes int64 // of its body
}

// Call is the reserved call that an item was given.
type Call struct {
	// Number is the call's place among all calls of Want.Reserved, in their order, from 1. Items that share a call have the
	// same number. 0 says that nothing was reserved.
	Number int
	// Target is where the call was reserved. It is kept with the claim, so that an attempt whose worker dies can be
	// explained.
	Target string
}

// Calls hands out reserved calls to the items of one claim. It is pure bookkeeping, for one goroutine.
type Calls struct {
	want    Want
	byModel map[string][]*reservedCalls
	shared  map[sharing]*sharedCall
}

// reservedCalls is what is left of a Reserved.
type reservedCalls struct {
	Reserved
	next   int // number of the next call
	tokens int64
}

// sharing is what embeddings have in common that can share a call.
type sharing struct {
	lane   penstock.Lane
	tenant penstock.TenantID
	model  string
}

// sharedCall is a call with places for more items.
type sharedCall struct {
	Call
	places int
}

// NewCalls returns the calls that a claim may give to items.
func NewCalls(w Want) *Calls {
	c := &Calls{want: w, byModel: make(map[string][]*reservedCalls), shared: make(map[sharing]*sharedCall)}
	next := 1
	for _, r := range w.Reserved {
		c.byModel[r.Model] = append(c.byModel[r.Model], &reservedCalls{r, next, r.InputTokens})
		next += r.Calls
	}
	return c
}

// Take gives an item a call, and says how many tokens its tenant is charged. It reports false when no call is left for it.
func (c *Calls) Take(item Candidate) (call Call, charge int64, ok bool) {
	if c.want.Reserved == nil {
		return Call{}, c.want.charge(item), true
	}
	shares, of := item.Endpoint == penstock.EndpointEmbeddings, sharing{item.Lane, item.Tenant, item.Model}
	if shares {
		if s := c.shared[of]; s != nil && s.places > 0 {
			s.places--
			return s.Call, c.want.charge(item), true
		}
	}
	for _, r := range c.byModel[item.Model] {
		if !r.serves(item) {
			continue
		}
		call = Call{r.next, r.Target}
		tokens := penstock.InputTokens(item.InputBytes)
		r.next++
		r.Calls--
		r.tokens -= tokens
		if shares && r.SharedInputs > 1 {
			places := min(int64(r.SharedInputs), r.SharedTokens/max(tokens, 1))
			c.shared[of] = &sharedCall{call, int(max(1, places)) - 1}
		}
		return call, c.want.charge(item), true
	}
	return Call{}, 0, false
}

// serves reports whether a call is left that an item can run on.
func (r *reservedCalls) serves(item Candidate) bool {
	return r.Calls > 0 && (r.InputTokens == 0 || r.tokens > 0) && (r.Endpoints == nil || slices.Contains(r.Endpoints, item.Endpoint))
}

// Correction changes what a tenant was given in a lane.
type Correction struct {
	Lane   penstock.Lane
	Tenant penstock.TenantID
	Tokens int64
}
