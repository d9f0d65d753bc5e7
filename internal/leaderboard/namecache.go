package leaderboard

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// NameSource looks up the names of players and teams, by id. *ledger.Names implements it.
// Callers pass at most MaxLimit ids. Unknown ids are missing from the result.
type NameSource interface {
	Nicknames(ctx context.Context, game string, ids []string) (map[string]string, error)
	TeamNames(ctx context.Context, game string, ids []string) (map[string]string, error)
}

const (
	// maxCachedNames is the capacity of the name cache, about 50 MB. A full cache is cleared.
	maxCachedNames = 1 << 18
	// nameTTL is how long a node may show an old name after a rename at another node.
	nameTTL = 5 * time.Second
)

// nameCache caches the names of players and teams. It also caches that an id has no name.
// Safe for concurrent use.
type nameCache struct {
	source NameSource

	mu       sync.Mutex
	names    map[holderKey]name
	removals int64 // number of calls of remove; the result of a lookup is stored only if there was no call meanwhile
}

// holderKey identifies a player or team.
type holderKey struct {
	kind     Kind
	game, id string
}

// name is a cached name; an empty text means that the id has no name.
type name struct {
	text      string
	expiresAt time.Time
}

func newNameCache(source NameSource) *nameCache {
	return &nameCache{source: source, names: map[holderKey]name{}}
}

// setNames fills in the names of entries. If the lookup fails and every missing name has an
// expired cache entry, it uses these and returns nil.
func (n *nameCache) setNames(ctx context.Context, game string, kind Kind, entries []Entry) error {
	key := holderKey{kind: cmp.Or(kind, Players), game: game}
	missing, areAllKnown, removals := n.setCachedNames(key, entries)
	if err := setNames(ctx, n.source, game, key.kind, missing); err != nil {
		if areAllKnown {
			return nil
		}
		return err
	}
	n.store(key, missing, removals)
	return nil
}

// setNames looks up the names of entries and fills them in.
func setNames(ctx context.Context, source NameSource, game string, kind Kind, entries []*Entry) error {
	if len(entries) == 0 {
		return nil
	}
	lookUp := source.Nicknames
	if kind == Teams {
		lookUp = source.TeamNames
	}
	ids := make([]string, len(entries))
	for i, entry := range entries {
		ids[i] = entry.ID
	}
	found, err := lookUp(ctx, game, ids)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		entry.Nickname = found[entry.ID]
	}
	return nil
}

// setCachedNames fills in cached names, also expired ones. It returns the entries that need
// a lookup, whether all of these have an expired name, and the removals to pass to store.
func (n *nameCache) setCachedNames(key holderKey, entries []Entry) (missing []*Entry, areAllKnown bool, removals int64) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	areAllKnown = true
	for i := range entries {
		key.id = entries[i].ID
		cached, isKnown := n.names[key]
		entries[i].Nickname = cached.text
		if !isKnown || now.After(cached.expiresAt) {
			missing = append(missing, &entries[i])
			areAllKnown = areAllKnown && isKnown
		}
	}
	return missing, areAllKnown, n.removals
}

// store caches names for nameTTL, unless a name was removed since removals was read.
func (n *nameCache) store(key holderKey, entries []*Entry, removals int64) {
	expiresAt := time.Now().Add(nameTTL)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.removals != removals {
		return
	}
	if len(n.names)+len(entries) > maxCachedNames {
		clear(n.names)
	}
	for _, entry := range entries {
		key.id = entry.ID
		n.names[key] = name{entry.Nickname, expiresAt}
	}
}

// remove removes a player's name from the cache, so that it is looked up again.
func (n *nameCache) remove(game, player string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.removals++
	delete(n.names, holderKey{Players, game, player})
}
