package leaderboard

// recentCache stores the keys that were put or read most recently. Each key has a size. It
// holds at least the last keys whose sizes add up to its capacity, and at most twice as
// much, or one larger key. It is not safe for concurrent use.
type recentCache[K comparable, V any] struct {
	capacity          int
	size              int                  // sum of the sizes of current
	current, previous map[K]cachedEntry[V] // when current is full, it replaces previous
}

type cachedEntry[V any] struct {
	value V
	size  int
}

// newRecentCache returns an empty cache.
func newRecentCache[K comparable, V any](capacity int) recentCache[K, V] {
	return recentCache[K, V]{capacity: capacity, current: map[K]cachedEntry[V]{}}
}

// get returns the value of a key.
func (r *recentCache[K, V]) get(key K) (V, bool) {
	entry, found := r.current[key]
	if found {
		return entry.value, true
	}
	if entry, found = r.previous[key]; found {
		r.put(key, entry.value, entry.size)
	}
	return entry.value, found
}

// put stores the value of a key. The size of a key must not change.
func (r *recentCache[K, V]) put(key K, value V, size int) {
	if _, isThere := r.current[key]; !isThere {
		if r.size > 0 && r.size+size > r.capacity {
			r.current, r.previous, r.size = map[K]cachedEntry[V]{}, r.current, 0
		}
		r.size += size
	}
	r.current[key] = cachedEntry[V]{value, size}
}

// remove removes a key.
func (r *recentCache[K, V]) remove(key K) {
	r.size -= r.current[key].size
	delete(r.current, key)
	delete(r.previous, key)
}
