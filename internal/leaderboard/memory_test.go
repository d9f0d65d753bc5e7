package leaderboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// memoryStore is a Store of one game in memory. It calls beforeCall with the name of the
// method before each call, and afterWrite after each call that writes. If one of them
// returns an error, the call returns it.
type memoryStore struct {
	mu         sync.Mutex
	copies     map[string]*memoryCopy // by id
	served     map[string]string      // config hash → id
	building   map[string]string
	configs    []Config // published last first
	leases     map[Duty]heldLease
	swept      []int64
	beforeCall func(method string) error
	afterWrite func(method string) error

	writes    int // number of calls that may write
	steps     int
	maxWrites int      // largest number of writes in a transaction
	faults    []string // transactions that contradict the stored entries
}

type heldLease struct {
	holder string
	until  time.Time
}

// memoryBoardSet is one board set with its boards.
type memoryCopy struct {
	state      State
	boards     map[Board]map[string]BoardEntry
	ranked     map[Board]map[Order]map[string]float64
	asOf       map[Board]int64
	sealedDays map[string]map[Kind]int64
}

func newMemoryStore() *memoryStore {
	return &memoryStore{
		copies: map[string]*memoryCopy{}, served: map[string]string{}, building: map[string]string{},
		leases:     map[Duty]heldLease{},
		beforeCall: func(string) error { return nil }, afterWrite: func(string) error { return nil },
	}
}

// lock starts a call: it calls beforeCall, locks mu and counts calls that may write.
func (m *memoryStore) lock(method string) error {
	err := m.beforeCall(method)
	m.mu.Lock()
	switch method {
	case "Begin", "Publish", "Sweep", "Commit":
		m.writes++
	}
	return err
}

func (m *memoryStore) stateOf(pointers map[string]string, game, configHash string) State {
	state := State{Generation: Generation{Game: game, ConfigHash: configHash, ID: pointers[configHash]}}
	c := m.copies[state.ID]
	if c == nil {
		return state
	}
	state = c.state
	state.Rolling = maps.Clone(c.state.Rolling)
	return state
}

func (m *memoryStore) ServedState(_ context.Context, game, configHash string) (State, error) {
	err := m.lock("ServedState")
	defer m.mu.Unlock()
	if err != nil {
		return State{}, err
	}
	state := m.stateOf(m.served, game, configHash)
	state.Served = state.ID != ""
	return state, nil
}

func (m *memoryStore) BuildingState(_ context.Context, game, configHash string) (State, error) {
	err := m.lock("BuildingState")
	defer m.mu.Unlock()
	if err != nil {
		return State{}, err
	}
	state := m.stateOf(m.building, game, configHash)
	if state.ID != "" {
		state.ReplacedID = m.served[configHash]
	}
	return state, nil
}

func (m *memoryStore) Begin(_ context.Context, cfg Config, fresh State, instead string) error {
	err := m.lock("Begin")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	configHash := fresh.ConfigHash
	building, served := m.building[configHash], m.served[configHash]
	if building != "" && building != instead || building == "" && served != "" && served != instead {
		return nil
	}
	delete(m.copies, building)
	m.building[configHash] = fresh.ID
	m.copies[fresh.ID] = &memoryCopy{
		state: fresh, boards: map[Board]map[string]BoardEntry{}, ranked: map[Board]map[Order]map[string]float64{},
		asOf: map[Board]int64{}, sealedDays: map[string]map[Kind]int64{},
	}
	m.configs = append(slices.DeleteFunc(m.configs, func(c Config) bool { return c.Hash() == configHash }), cfg)
	return m.afterWrite("Begin")
}

func (m *memoryStore) Publish(_ context.Context, s State) error {
	err := m.lock("Publish")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	c := m.copies[s.ID]
	if m.building[s.ConfigHash] != s.ID || m.served[s.ConfigHash] != s.ReplacedID || c == nil || c.state.Loading {
		return nil
	}
	delete(m.copies, s.ReplacedID)
	delete(m.building, s.ConfigHash)
	m.served[s.ConfigHash] = s.ID
	slices.SortStableFunc(m.configs, func(a, b Config) int {
		return cmp.Compare(boolToInt(b.Hash() == s.ConfigHash), boolToInt(a.Hash() == s.ConfigHash))
	})
	return m.afterWrite("Publish")
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *memoryStore) ServedConfigs(_ context.Context, game string) ([]Config, error) {
	err := m.lock("ServedConfigs")
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	unserved := func(c Config) bool { return c.Game != game || m.served[c.Hash()] == "" }
	return slices.DeleteFunc(slices.Clone(m.configs), unserved), nil
}

func (m *memoryStore) Sweep(_ context.Context, _, _ string, before int64) error {
	err := m.lock("Sweep")
	defer m.mu.Unlock()
	m.swept = append(m.swept, before)
	return err
}

func (m *memoryStore) AcquireLease(_ context.Context, d Duty, holder string, ttl time.Duration) (bool, error) {
	err := m.lock("AcquireLease")
	defer m.mu.Unlock()
	if err != nil {
		return false, err
	}
	if l, exists := m.leases[d]; exists && l.holder != holder && time.Now().Before(l.until) {
		return false, nil
	}
	m.leases[d] = heldLease{holder, time.Now().Add(ttl)}
	return true, nil
}

func (m *memoryStore) ReleaseLease(_ context.Context, d Duty, holder string) error {
	err := m.lock("ReleaseLease")
	defer m.mu.Unlock()
	if err == nil && m.leases[d].holder == holder {
		delete(m.leases, d)
	}
	return err
}

// expireLeases ends every lease.
func (m *memoryStore) expireLeases() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.leases)
}

func (m *memoryStore) ReadEntries(_ context.Context, g Generation, wants []EntryRequest) ([]EntryAnswer, error) {
	err := m.lock("ReadEntries")
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return m.entriesOf(g, wants), nil
}

func (m *memoryStore) entriesOf(g Generation, wants []EntryRequest) []EntryAnswer {
	answers := make([]EntryAnswer, len(wants))
	c := m.copies[g.ID]
	for i, w := range wants {
		if c == nil {
			continue
		}
		answers[i].Size = int64(len(c.boards[w.Board]))
		for _, id := range w.IDs {
			if h, exists := c.boards[w.Board][id]; exists {
				answers[i].Found = append(answers[i].Found, h)
			}
		}
	}
	return answers
}

func (m *memoryStore) ReadMembers(_ context.Context, g Generation, v View, from int64, limit int) ([]BoardEntry, error) {
	err := m.lock("ReadMembers")
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c := m.copies[g.ID]
	if c == nil {
		return nil, nil
	}
	keys := c.ranked[v.Board][v.Ranking]
	members := slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b))
	})
	var held []BoardEntry
	for _, member := range members[min(int(from), len(members)):min(int(from)+limit, len(members))] {
		_, id, _ := strings.Cut(member, ":")
		held = append(held, c.boards[v.Board][id])
	}
	return held, nil
}

func (m *memoryStore) ReadSealedDay(_ context.Context, g Generation, day string) (SealedDay, bool, error) {
	err := m.lock("ReadSealedDay")
	defer m.mu.Unlock()
	if err != nil {
		return SealedDay{}, false, err
	}
	c := m.copies[g.ID]
	if c == nil || c.sealedDays[day] == nil {
		return SealedDay{}, false, nil
	}
	return SealedDay{Day: day, Sizes: maps.Clone(c.sealedDays[day])}, true, nil
}

func (m *memoryStore) Inspect(_ context.Context, g Generation, rankings []Order, wants []EntryRequest) (Inspection, error) {
	err := m.lock("Inspect")
	defer m.mu.Unlock()
	if err != nil {
		return Inspection{}, err
	}
	c := m.copies[g.ID]
	if c == nil || c.state.Version == "" {
		return Inspection{}, ErrStale
	}
	inspection := Inspection{Progress: c.state.Progress}
	inspection.Rolling = maps.Clone(inspection.Rolling)
	for i, content := range m.entriesOf(g, wants) {
		board := wants[i].Board
		inspected := Inspected{EntryAnswer: content, Ranked: map[Order]int64{}}
		for _, h := range content.Found {
			keys := map[Order]float64{}
			for _, o := range rankings {
				if key, exists := c.ranked[board][o][h.Member()]; exists {
					keys[o] = key
				}
			}
			inspected.Keys = append(inspected.Keys, keys)
		}
		for _, o := range rankings {
			inspected.Ranked[o] = int64(len(c.ranked[board][o]))
		}
		inspection.Boards = append(inspection.Boards, inspected)
	}
	return inspection, nil
}

func (m *memoryStore) Commit(_ context.Context, g Generation, steps []Step) error {
	err := m.lock("Commit")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	for _, s := range steps {
		c := m.copies[g.ID]
		switch {
		case c == nil:
			return ErrStale
		case c.state.Version == s.Version:
			continue
		case c.state.Version != s.ExpectedVersion:
			return ErrStale
		}
		m.steps++
		m.maxWrites = max(m.maxWrites, countWrites(s))
		m.faults = append(m.faults, c.applyStep(s)...)
	}
	return m.afterWrite("Commit")
}

// countWrites returns the number of writes of a transaction.
func countWrites(s Step) int {
	n := len(s.SealedDays) + len(s.DroppedDays)
	for _, c := range s.Changes {
		n += len(c.Put) + len(c.Removed)
		for _, members := range c.RemovedMembers {
			n += len(members)
		}
		for _, members := range c.AddedMembers {
			n += len(members)
		}
	}
	return n
}

// applyTransaction applies a transaction, and returns contradictions to the stored entries.
func (c *memoryCopy) applyStep(s Step) (faults []string) {
	for _, change := range s.Changes {
		faults = append(faults, c.change(change)...)
	}
	for _, day := range s.SealedDays {
		c.sealedDays[day.Day] = maps.Clone(day.Sizes)
	}
	for _, day := range s.DroppedDays {
		for _, kind := range Kinds() {
			delete(c.boards, Board{kind, day})
			delete(c.ranked, Board{kind, day})
			delete(c.asOf, Board{kind, day})
		}
		delete(c.sealedDays, day)
	}
	// The real store writes progress as JSON, so it must survive that.
	raw, err := json.Marshal(s.Progress)
	if err != nil {
		panic(err)
	}
	c.state.Progress = Progress{}
	if err := json.Unmarshal(raw, &c.state.Progress); err != nil {
		panic(err)
	}
	c.state.Version, c.state.Loading = s.Version, s.Loading
	return faults
}

func (c *memoryCopy) change(change Change) (faults []string) {
	b := change.Board
	if c.boards[b] == nil {
		c.boards[b], c.ranked[b] = map[string]BoardEntry{}, map[Order]map[string]float64{}
	}
	if change.AsOf > 0 {
		c.asOf[b] = change.AsOf
	}
	for _, h := range change.Put {
		c.boards[b][h.ID] = h
	}
	for _, id := range change.Removed {
		delete(c.boards[b], id)
	}
	for o, members := range change.RemovedMembers {
		for _, member := range members {
			if _, exists := c.ranked[b][o][member]; !exists {
				faults = append(faults, fmt.Sprintf("%v by %s: the removed member %s does not exist", b, o, member))
			}
			delete(c.ranked[b][o], member)
		}
	}
	for o, members := range change.AddedMembers {
		if c.ranked[b][o] == nil {
			c.ranked[b][o] = map[string]float64{}
		}
		for _, r := range members {
			c.ranked[b][o][r.Member] = r.Key
		}
	}
	return faults
}
