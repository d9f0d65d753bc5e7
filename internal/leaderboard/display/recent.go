package display

// recentCache stores the keys that were put or read most recently: at least the last
// capacity keys, and at most twice as many. It is not safe for concurrent use.
type recentCache[K comparable, V any] struct {
	capacity   int
	young, old map[K]V // when current is full, it replaces previous
}

func newRecentCache[K comparable, V any](capacity int) recentCache[K, V] {
	return recentCache[K, V]{capacity: capacity, young: make(map[K]V)}
}

func (r *recentCache[K, V]) get(key K) (V, bool) {
	value, ok := r.young[key]
	if ok {
		return value, true
	}
	if value, ok = r.old[key]; ok {
		r.put(key, value)
	}
	return value, ok
}

func (r *recentCache[K, V]) put(key K, value V) {
	if len(r.young) >= r.capacity {
		r.young, r.old = make(map[K]V), r.young
	}
	r.young[key] = value
}

func (r *recentCache[K, V]) remove(key K) {
	delete(r.young, key)
	delete(r.old, key)
}
