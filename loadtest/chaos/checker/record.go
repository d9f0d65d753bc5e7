package checker

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// records are the matches of an ordeal. It is safe for concurrent use.
type records struct {
	mu  sync.Mutex
	all map[string]*record
}

// record is a match as all who saw it did. It is safe for concurrent use; what
// is read of it afterwards is not guarded.
type record struct {
	id     string
	mu     sync.Mutex
	pushes [][]byte // by number, from 1
	shares map[string]*share
	final  map[string]*totals // by player, once judged
}

// of is the record of a match.
func (r *records) of(match string) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[string]*record)
	}
	if r.all[match] == nil {
		r.all[match] = &record{id: match, shares: make(map[string]*share)}
	}
	return r.all[match]
}

// sorted are all records by their id.
func (r *records) sorted() []*record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*record
	for _, id := range slices.Sorted(maps.Keys(r.all)) {
		all = append(all, r.all[id])
	}
	return all
}

// share is the share of a player.
func (r *record) share(player string) *share {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.shares[player]
	if s == nil {
		s = &share{player: player, answers: make(map[int]*given), owns: make(map[int]protocol.Own)}
		r.shares[player] = s
	}
	return s
}

// see keeps a numbered push, or holds it against what others saw under its
// number. It comes after all the lower ones.
func (r *record) see(h player.Received) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch n := h.Seq - 1; {
	case h.Match != r.id:
		return violation("a push of %s came into %s: %s", h.Match, r.id, h.Raw)
	case n == int64(len(r.pushes)):
		r.pushes = append(r.pushes, h.Raw)
	case n > int64(len(r.pushes)):
		return violation("push %d of %s came before %d: %s", h.Seq, r.id, len(r.pushes)+1, h.Raw)
	case !bytes.Equal(r.pushes[n], h.Raw):
		return violation("push %d of %s is %s to one, and to another %s", h.Seq, r.id, r.pushes[n], h.Raw)
	}
	return nil
}

// newest is the newest push that anybody saw.
func (r *record) newest() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pushes[len(r.pushes)-1]
}
