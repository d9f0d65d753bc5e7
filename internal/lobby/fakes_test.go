package lobby

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// matchRecords are the matches that all nodes see.
type matchRecords struct {
	mu         sync.Mutex
	plans      map[string]*match.Plan
	tombstoned map[string]bool // tombstoned matches
	left       map[string]bool // players who lost their seat
	over       map[string]bool
	unsettled  map[string]bool
}

// created lists the created matches.
func (h *matchRecords) created() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.plans))
}

// set marks a match or a player.
func (h *matchRecords) set(marks map[string]bool, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	marks[id] = true
}

// isTombstoned reports whether a match is tombstoned.
func (h *matchRecords) isTombstoned(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tombstoned[id]
}

// fakeMatches is a node's connection to matchRecords, with the players at the
// node.
type fakeMatches struct {
	*matchRecords
	full bool
	shut func() bool // error of Start; nil for none

	here       map[string]bool
	attachedTo map[string]string // the match to which each local player was attached
}

var errShut = errors.New("the match cannot be created")

func (d *fakeMatches) Start(_ context.Context, p *match.Plan) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut != nil && d.shut() {
		return errShut
	}
	if d.tombstoned[p.ID] {
		return match.ErrNotFound
	}
	if d.plans[p.ID] == nil {
		d.plans[p.ID] = p
	}
	for _, s := range d.plans[p.ID].Seats {
		d.recordAttach(p.ID, s.Player)
	}
	return nil
}

// recordAttach records that a player was attached to a match. The caller holds
// mu.
func (d *fakeMatches) recordAttach(match, player string) {
	if d.here[player] {
		d.attachedTo[player] = match
	}
}

func (d *fakeMatches) AttachSession(_ context.Context, _, id, player string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here[player] && d.plans[id] == nil {
		return match.ErrNotFound
	}
	d.recordAttach(id, player)
	return nil
}

func (d *fakeMatches) CheckOverload() error {
	if d.full {
		return match.ErrOverloaded
	}
	return nil
}

func (d *fakeMatches) Tombstone(_ context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.plans[id] != nil {
		return true, nil
	}
	d.tombstoned[id] = true
	return false, nil
}

func (d *fakeMatches) Status(_ context.Context, id string) (match.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.plans[id] == nil {
		return match.Status{}, nil
	}
	r := match.Status{Seq: 7, Running: !d.over[id]}
	if r.Running && d.plans[id].Arena != nil {
		r.ArenaID = d.plans[id].Arena.ID
	}
	return r, nil
}

func (d *fakeMatches) CheckSeat(_ context.Context, id, player string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.plans[id].Seat(player); !ok || d.left[player] {
		return match.ErrNotFound
	}
	return nil
}

func (d *fakeMatches) IsUnsettled(_ context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unsettled[id], nil
}

// match returns the match to which a local player was attached, or "".
func (d *fakeMatches) match(player string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attachedTo[player]
}

// fakeBank has 30 questions: 20 about sport and 20 in English, of which 10 are
// both.
type fakeBank struct{}

func (fakeBank) questions(w Filter) []quiz.Drawn {
	var all []quiz.Drawn
	for i := range 30 {
		q := quiz.Drawn{Question: &quiz.Question{ID: string(rune('a' + i)), Lang: "en", Category: "sport"}}
		if i < 10 {
			q.Lang = "zh-CN"
		}
		if i >= 20 {
			q.Category = "art"
		}
		if w.IsCompatible(Filter{Lang: q.Lang, Category: q.Category}) {
			all = append(all, q)
		}
	}
	return all
}

func (s fakeBank) Count(_ string, w Filter) int { return len(s.questions(w)) }

func (s fakeBank) Draw(_ string, w Filter, count int, seen map[string]struct{}) ([]quiz.Drawn, error) {
	all := s.questions(w)
	if len(all) < count {
		return nil, errors.New("too few questions")
	}
	slices.SortStableFunc(all, func(a, b quiz.Drawn) int {
		_, x := seen[a.ID]
		_, y := seen[b.ID]
		return map[bool]int{true: 1}[x] - map[bool]int{true: 1}[y]
	})
	return all[:count], nil
}

// fakeSeenStore records what the players have seen.
type fakeSeenStore struct {
	mu   sync.Mutex
	seen map[string][]string
}

func (m *fakeSeenStore) SeenQuestions(_ context.Context, _ string, players []string) (map[string]struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]struct{}{}
	for _, p := range players {
		for _, id := range m.seen[p] {
			all[id] = struct{}{}
		}
	}
	return all, nil
}

func (m *fakeSeenStore) AddSeen(_ context.Context, _ string, players, questions []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range players {
		m.seen[p] = append(m.seen[p], questions...)
	}
	return nil
}
