package display

import (
	"cmp"
	"context"
	"sync"
	"time"

	"laststand/internal/leaderboard"
)

const (
	// maxNames is half the bound of cached names, which take about 50 MB in all.
	maxNames = 1 << 17
	// nameTTL is how long a node may show an old name after a rename at another node.
	nameTTL = 5 * time.Second
)

// nameCache caches the names of players and teams. It also caches that an id has no
// name.
type nameCache struct {
	source leaderboard.Names

	mu          sync.Mutex
	cache       recentCache[holderKey, name]
	forgetCount int64 // number of forget calls: a lookup that began before one is not stored
}

type holderKey struct {
	kind     leaderboard.Kind
	game, id string
}

type name struct {
	text      string
	expiresAt time.Time
}

func newNameCache(source leaderboard.Names) *nameCache {
	return &nameCache{source: source, cache: newRecentCache[holderKey, name](maxNames)}
}

// addNames fills in the names of entries. If the lookup fails, it uses expired names,
// provided that all missing names are known.
func (n *nameCache) addNames(ctx context.Context, game string, kind leaderboard.Kind, entries []leaderboard.Entry) error {
	key := holderKey{kind: cmp.Or(kind, leaderboard.Players), game: game}
	missing, expired, forgetCount := n.addKnownNames(key, entries)
	if len(missing) == 0 {
		return nil
	}
	lookUp := n.source.Nicknames
	if key.kind == leaderboard.Teams {
		lookUp = n.source.TeamNames
	}
	ids := make([]string, len(missing))
	for i, e := range missing {
		ids[i] = e.ID
	}
	found, err := lookUp(ctx, game, ids)
	switch {
	case err != nil && expired == len(missing):
		return nil
	case err != nil:
		return err
	}
	for _, e := range missing {
		e.Nickname = found[e.ID]
	}
	n.store(key, missing, forgetCount)
	return nil
}

// addKnownNames fills in cached names. It returns the entries that need a lookup, how
// many of them have an expired name, and the forgetCount to pass to store.
func (n *nameCache) addKnownNames(key holderKey, entries []leaderboard.Entry) (missing []*leaderboard.Entry, expired int, forgetCount int64) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range entries {
		key.id = entries[i].ID
		cached, ok := n.cache.get(key)
		entries[i].Nickname = cached.text
		if ok && !now.After(cached.expiresAt) {
			continue
		}
		missing = append(missing, &entries[i])
		if ok {
			expired++
		}
	}
	return missing, expired, n.forgetCount
}

func (n *nameCache) store(key holderKey, entries []*leaderboard.Entry, forgetCount int64) {
	expiresAt := time.Now().Add(nameTTL)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.forgetCount != forgetCount {
		return
	}
	for _, e := range entries {
		key.id = e.ID
		n.cache.put(key, name{e.Nickname, expiresAt})
	}
}

// forget removes a player's name from the cache.
func (n *nameCache) forget(game, player string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgetCount++
	n.cache.remove(holderKey{leaderboard.Players, game, player})
}
