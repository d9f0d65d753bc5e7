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
	mu          sync.Mutex
	plans       map[string]*match.Plan
	tombstoned  map[string]bool // tombstoned matches
	withoutSeat map[string]bool // players who lost their seat
	over        map[string]bool
	unsettled   map[string]bool
}

// created lists the created matches.
func (r *matchRecords) created() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.plans))
}

// addTo adds the id of a match or a player to one of the sets.
func (r *matchRecords) addTo(set map[string]bool, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set[id] = true
}

// isTombstoned reports whether a match is tombstoned.
func (r *matchRecords) isTombstoned(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tombstoned[id]
}

// fakeMatches is a node's connection to matchRecords, with the players at the
// node.
type fakeMatches struct {
	*matchRecords
	isOverloaded    bool
	shouldFailStart func() bool // whether the next StartDuel fails; nil for never

	localPlayers map[string]bool
	attachedTo   map[string]string // the match to which each local player was attached
}

var errStartFails = errors.New("the match cannot be created")

func (m *fakeMatches) StartDuel(_ context.Context, plan *match.Plan) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shouldFailStart != nil && m.shouldFailStart() {
		return errStartFails
	}
	if m.tombstoned[plan.ID] {
		return match.ErrNotFound
	}
	if m.plans[plan.ID] == nil {
		m.plans[plan.ID] = plan
	}
	for _, seat := range m.plans[plan.ID].Seats {
		m.attachIfLocal(plan.ID, seat.Player)
	}
	return nil
}

// attachIfLocal records that a player was attached to a match. The caller holds
// mu.
func (m *fakeMatches) attachIfLocal(match, player string) {
	if m.localPlayers[player] {
		m.attachedTo[player] = match
	}
}

func (m *fakeMatches) AttachSession(_ context.Context, _, id, player string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.localPlayers[player] && m.plans[id] == nil {
		return match.ErrNotFound
	}
	m.attachIfLocal(id, player)
	return nil
}

func (m *fakeMatches) CheckOverload() error {
	if m.isOverloaded {
		return match.ErrOverloaded
	}
	return nil
}

func (m *fakeMatches) Tombstone(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans[id] != nil {
		return true, nil
	}
	m.tombstoned[id] = true
	return false, nil
}

func (m *fakeMatches) Status(_ context.Context, id string) (match.Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans[id] == nil {
		return match.Status{}, nil
	}
	status := match.Status{Seq: 7, Running: !m.over[id]}
	if status.Running && m.plans[id].Arena != nil {
		status.ArenaID = m.plans[id].Arena.ID
	}
	return status, nil
}

func (m *fakeMatches) CheckSeat(_ context.Context, id, player string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.plans[id].FindSeat(player); !ok || m.withoutSeat[player] {
		return match.ErrNotFound
	}
	return nil
}

func (m *fakeMatches) IsUnsettled(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unsettled[id], nil
}

// attachedMatch returns the match to which a local player was attached, or "".
func (m *fakeMatches) attachedMatch(player string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attachedTo[player]
}

// fakeBank has 30 questions: 20 about sport and 20 in English, of which 10 are
// both.
type fakeBank struct{}

func (fakeBank) matchingQuestions(filter quiz.Filter) []quiz.DrawnQuestion {
	var matching []quiz.DrawnQuestion
	for i := range 30 {
		question := quiz.DrawnQuestion{Question: &quiz.Question{ID: string(rune('a' + i)), Lang: "en", Category: "sport"}}
		if i < 10 {
			question.Lang = "zh-CN"
		}
		if i >= 20 {
			question.Category = "art"
		}
		if filter.IsCompatible(quiz.Filter{Lang: question.Lang, Category: question.Category}) {
			matching = append(matching, question)
		}
	}
	return matching
}

func (b fakeBank) Count(_ quiz.Source, filter quiz.Filter) int {
	return len(b.matchingQuestions(filter))
}

func (b fakeBank) Draw(_ quiz.Source, filter quiz.Filter, count int, seen func(id string) bool) ([]quiz.DrawnQuestion, error) {
	matching := b.matchingQuestions(filter)
	if len(matching) < count {
		return nil, errors.New("too few questions")
	}
	slices.SortStableFunc(matching, func(a, b quiz.DrawnQuestion) int {
		return map[bool]int{true: 1}[seen(a.ID)] - map[bool]int{true: 1}[seen(b.ID)]
	})
	return matching[:count], nil
}

// fakeSeenStore records what the players have seen.
type fakeSeenStore struct {
	mu   sync.Mutex
	seen map[string][]string
}

func (s *fakeSeenStore) SeenQuestions(_ context.Context, _ string, players []string) (func(id string) bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var merged []string
	for _, player := range players {
		merged = append(merged, s.seen[player]...)
	}
	return func(id string) bool { return slices.Contains(merged, id) }, nil
}

func (s *fakeSeenStore) AddSeen(_ context.Context, _ string, players, questions []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, player := range players {
		s.seen[player] = append(s.seen[player], questions...)
	}
	return nil
}
