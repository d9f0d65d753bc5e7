package display

// recentCache stores the keys that were put or read most recently: at least the last
// capacity keys, and at most twice as many. It is not safe for concurrent use.
type recentCache[K comparable, V any] struct {
	capacity          int
	current, previous map[K]V // when current is full, it replaces previous
}

func newRecentCache[K comparable, V any](capacity int) recentCache[K, V] {
	return recentCache[K, V]{capacity: capacity, current: make(map[K]V)}
}

func (r *recentCache[K, V]) get(key K) (V, bool) {
	value, ok := r.current[key]
	if ok {
		return value, true
	}
	if value, ok = r.previous[key]; ok {
		r.put(key, value)
	}
	return value, ok
}

func (r *recentCache[K, V]) put(key K, value V) {
	if len(r.current) >= r.capacity {
		r.current, r.previous = make(map[K]V), r.current
	}
	r.current[key] = value
}

func (r *recentCache[K, V]) remove(key K) {
	delete(r.current, key)
	delete(r.previous, key)
}
