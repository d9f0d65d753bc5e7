package display

// recent keeps what was put in or asked for last: at least most keys, at most
// twice as many. The owner guards it.
type recent[K comparable, V any] struct {
	most       int
	young, old map[K]V
}

func newRecent[K comparable, V any](most int) recent[K, V] {
	return recent[K, V]{most: most, young: make(map[K]V)}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	value, ok := r.young[key]
	if ok {
		return value, true
	}
	if value, ok = r.old[key]; ok {
		r.put(key, value)
	}
	return value, ok
}

func (r *recent[K, V]) put(key K, value V) {
	if len(r.young) >= r.most {
		r.young, r.old = make(map[K]V), r.young
	}
	r.young[key] = value
}

func (r *recent[K, V]) drop(key K) {
	delete(r.young, key)
	delete(r.old, key)
}
