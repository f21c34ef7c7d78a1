package http1

import (
	"sync"
	"time"
)

// pool keeps connections for the next calls. The one that was used last is used first, so that a pool which grew in a
// burst shrinks again.
type pool struct {
	most    int
	timeout time.Duration

	mu    sync.Mutex
	idle  map[string][]*conn // by address, the oldest first
	count int
	sweep *time.Timer // set while there is anything to sweep
}

// take removes a live connection from the pool. It returns nil if there is none.
func (p *pool) take(address string) *conn {
	for {
		c := p.pop(address)
		if c == nil || !c.dead() {
			return c
		}
		c.drop()
	}
}

func (p *pool) pop(address string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.idle[address]
	if len(all) == 0 {
		return nil
	}
	last := len(all) - 1
	c := all[last]
	all[last] = nil
	p.idle[address] = all[:last]
	p.count--
	return c
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
