package leaderboard

import "testing"

func TestRecentlyReadKeysStayInTheCache(t *testing.T) {
	t.Parallel()
	cache := newRecentCache[int, int](10)
	for key := range 1000 {
		cache.put(key, -key, 1)
		if value, ok := cache.get(0); !ok || value != 0 {
			t.Fatalf("after %d others: %d, %v", key, value, ok)
		}
		if value, ok := cache.get(key - 4); key >= 4 && (!ok || value != 4-key) {
			t.Fatalf("a key of the last 5 before %d: %d, %v", key, value, ok)
		}
		if n := len(cache.current) + len(cache.previous); n > 20 {
			t.Fatalf("%d keys are cached", n)
		}
	}
	if _, ok := cache.get(500); ok {
		t.Error("key 500 is still cached")
	}
	cache.remove(0)
	if _, ok := cache.get(0); ok {
		t.Error("a removed key is still cached")
	}
}
