package checker

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// records are the matches of a run. It is safe for concurrent use.
type records struct {
	mu  sync.Mutex
	all map[string]*record
}

// record is a match as all its players and its host saw it. It is safe for concurrent
// use during the match. After the match its fields are read without the lock.
type record struct {
	id     string
	mu     sync.Mutex
	pushes [][]byte // by number, from 1
	shares map[string]*share
	final  map[string]*totals // by player, once judged
}

// of returns the record of a match.
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

// sorted returns all records, sorted by id.
func (r *records) sorted() []*record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*record
	for _, id := range slices.Sorted(maps.Keys(r.all)) {
		all = append(all, r.all[id])
	}
	return all
}

// share returns the share of a player.
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

// see records a numbered push, or compares it with the push that others saw under the
// same number. The lower numbers must come first.
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

// newest returns the newest push that any witness saw.
func (r *record) newest() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pushes[len(r.pushes)-1]
}
