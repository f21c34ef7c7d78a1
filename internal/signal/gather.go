package signal

// Gathering collects the keys of a topic's signals, for a subscriber that must know which keys changed. It holds a
// bounded number of keys: past the bound, and after a signal without keys, only the fact remains that any key may have
// changed.
type Gathering[K ~string] struct {
	C <-chan struct{} // holds one signal at the most

	c          chan struct{}
	topic      *Topic[K]
	most       int
	keys       map[K]struct{} // with everything below, guarded by the topic
	everything bool
}

// Gather collects the keys of every signal of the topic, at most so many between two calls of Take, until Close.
func (t *Topic[K]) Gather(most int) *Gathering[K] {
	c := make(chan struct{}, 1)
	g := &Gathering[K]{C: c, c: c, topic: t, most: most, keys: make(map[K]struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gathering[g] = struct{}{}
	return g
}

// Take returns the keys that were gathered since the last call. Everything means that any other key may have changed too.
func (g *Gathering[K]) Take() (keys []K, everything bool) {
	g.topic.mu.Lock()
	defer g.topic.mu.Unlock()
	for key := range g.keys {
		keys = append(keys, key)
	}
	everything = g.everything
	clear(g.keys)
	g.everything = false
	return keys, everything
}

// Close ends the gathering. Its channel stays open.
func (g *Gathering[K]) Close() {
	g.topic.mu.Lock()
	defer g.topic.mu.Unlock()
	delete(g.topic.gathering, g)
}

// gather adds keys to every gathering; none stand for all. The topic is locked.
func (t *Topic[K]) gather(keys []K) {
	for g := range t.gathering {
		if len(keys) == 0 {
			g.everything = true
		}
		for _, key := range keys {
			if _, known := g.keys[key]; !known && len(g.keys) == g.most {
				g.everything = true
				break
			}
			g.keys[key] = struct{}{}
		}
		select {
		case g.c <- struct{}{}:
		default: // it has a signal that it has not received yet
		}
	}
}
