package http1

import (
	"slices"
	"sort"
	"sync"
	"time"
)

// pool keeps connections for the next calls. Of those that rested, the one that was used last is used first, so that a
// pool which grew in a burst shrinks again.
type pool struct {
	most    int
	timeout time.Duration
	rest    time.Duration

	mu    sync.Mutex
	idle  map[string][]*conn // by address, the oldest first
	count int
	sweep *time.Timer // set while there is anything to sweep
}

// take removes a connection from the pool. It returns nil if there is none. The server may have closed the connection: the call finds out
// when it is sent.
func (p *pool) take(address string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.idle[address]
	at := p.rested(all)
	if at < 0 {
		return nil
	}
	c := all[at]
	p.idle[address] = slices.Delete(all, at, at+1)
	p.count--
	return c
}

// rested is the place of the youngest connection that rested, -1 for none. A pool that is half full of connections that did
// not rest has grown enough: then it is the oldest of them.
func (p *pool) rested(all []*conn) int {
	now := time.Now()
	at := sort.Search(len(all), func(i int) bool { return now.Sub(all[i].idle) < p.rest }) - 1
	if at < 0 && len(all) > p.most/2 {
		return 0
	}
	return at
}

// put adds a connection, or closes it if there are enough.
func (p *pool) put(c *conn) {
	c.idle = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= p.most {
		c.drop()
		return
	}
	if p.idle == nil {
		p.idle = make(map[string][]*conn)
	}
	p.idle[c.address] = append(p.idle[c.address], c)
	p.count++
	if p.sweep == nil {
		p.sweep = time.AfterFunc(p.timeout, p.expire)
	}
}

// expire closes what was not used for too long, and looks again later if anything is left.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep = nil
	now := time.Now()
	for address, all := range p.idle {
		old := 0
		for old < len(all) && now.Sub(all[old].idle) >= p.timeout {
			all[old].drop()
			old++
		}
		p.count -= old
		if old == len(all) {
			delete(p.idle, address)
		} else if old > 0 {
			p.idle[address] = append([]*conn(nil), all[old:]...)
		}
	}
	if p.count > 0 {
		p.sweep = time.AfterFunc(p.timeout, p.expire)
	}
}

// clear closes all connections.
func (p *pool) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range p.idle {
		for _, c := range all {
			c.drop()
		}
	}
	p.idle, p.count = nil, 0
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
}
