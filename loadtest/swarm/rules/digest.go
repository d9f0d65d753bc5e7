package rules

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
)

// pushDigest hashes the numbered pushes of a match in their order.
type pushDigest struct {
	sum    uint64
	pushes int
}

func (d *pushDigest) add(raw []byte) {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, d.sum)) // writing to a hash cannot fail
	_, _ = h.Write(raw)
	d.sum = h.Sum64()
	d.pushes++
}

// Digest is a match as one player saw it to its end. All other players must have seen the
// same, including the first player at each question.
type Digest struct {
	Match   string `json:"match"`
	Player  string `json:"player"`
	Players int    `json:"players"`
	Pushes  int    `json:"pushes"`
	Sum     uint64 `json:"sum,string"`
}

// Digest returns what the player saw.
func (m *Match) Digest() Digest {
	return Digest{Match: m.ID, Player: m.player, Players: m.found.Players, Pushes: m.pushes.pushes, Sum: m.pushes.sum}
}

// Matches compares what the players of each match saw. It forgets a match when all its
// players have reported. It is safe for concurrent use. The zero value is ready.
type Matches struct {
	mu   sync.Mutex
	open map[string]*comparison
	done int
}

type comparison struct {
	first Digest
	by    map[string]bool

	hasViolation bool
}

// Add adds what a player saw. It returns the violation that this reveals, or "".
func (a *Matches) Add(s Digest) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.open[s.Match]
	if w == nil {
		if a.open == nil {
			a.open = make(map[string]*comparison)
		}
		w = &comparison{first: s, by: make(map[string]bool)}
		a.open[s.Match] = w
	}
	twice := w.by[s.Player]
	w.by[s.Player] = true
	differs := s.Pushes != w.first.Pushes || s.Sum != w.first.Sum || s.Players != w.first.Players
	w.hasViolation = w.hasViolation || twice || differs
	if len(w.by) == w.first.Players {
		delete(a.open, s.Match)
		if !w.hasViolation {
			a.done++
		}
	}
	switch {
	case twice:
		return fmt.Sprintf("%s ended twice for %s", s.Match, s.Player)
	case differs:
		return fmt.Sprintf("%s is %d pushes (%x) of %d players to %s, and %d (%x) of %d to %s",
			s.Match, w.first.Pushes, w.first.Sum, w.first.Players, w.first.Player, s.Pushes, s.Sum, s.Players, s.Player)
	}
	return ""
}

// Done returns the number of matches that all of their players saw alike to the end.
func (a *Matches) Done() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// Open lists the matches that only some of their players saw to the end, and names these
// players.
func (a *Matches) Open() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(a.open)) {
		w := a.open[id]
		all = append(all, fmt.Sprintf("%s had %d players, and %d saw its end: %v", id, w.first.Players, len(w.by), slices.Sorted(maps.Keys(w.by))))
	}
	return all
}
