package capacity

// LimitScopeStatus is the state of a limit scope, for metrics and the admin API.
type LimitScopeStatus struct {
	Name   Name
	Limits []LimitStatus
}

// LimitStatus is one limit of a limit scope.
type LimitStatus struct {
	Resource string // requests, input_tokens, output_tokens, daily_tokens, concurrency
	Limit    int64
	Used     float64 // the used part of the burst, from 0 to 1
}

// LimitScopeStatuses returns every limit scope that was used within the last minutes, by name.
func (b *Tracker) LimitScopeStatuses() []LimitScopeStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	part := func(used, all int64) float64 { return max(0, min(1, float64(used)/float64(max(1, all)))) }
	var all []LimitScopeStatus
	for _, r := range b.sorted() {
		if !r.scope() {
			continue
		}
		s := LimitScopeStatus{Name: r.name}
		for i := range r.rates {
			if m := &r.rates[i]; m.perMinute > 0 {
				p := m.estimate(now)
				s.Limits = append(s.Limits, LimitStatus{resourceNames[i], m.perMinute, part(p.Burst()-p.Units(), p.Burst())})
			}
		}
		if permits := int64(r.permits.cap); permits > 0 {
			s.Limits = append(s.Limits, LimitStatus{Permits, permits, part(int64(r.running), permits)})
		}
		all = append(all, s)
	}
	return all
}
