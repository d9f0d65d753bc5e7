package leaderboard

import (
	"cmp"
	"context"
	"encoding/json"
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
	boardSets  map[string]*memoryBoardSet // by id
	served     map[string]string          // config hash → id
	building   map[string]string          // config hash → id
	configs    []Config                   // the configuration that was published last is the first
	leases     map[LeaseID]heldLease
	beforeCall func(method string) error
	afterWrite func(method string) error

	writeCalls   int // number of calls that may write
	transactions int
	maxWrites    int // largest number of writes in a transaction
}

type heldLease struct {
	holder    string
	expiresAt time.Time
}

// memoryBoardSet is one board set with its boards.
type memoryBoardSet struct {
	state    BoardSetState
	boards   map[Board]map[string]BoardEntry
	rankings map[Board]map[Order]map[string]float64
	asOf     map[Board]int64
}

func newMemoryStore() *memoryStore {
	return &memoryStore{
		boardSets: map[string]*memoryBoardSet{}, served: map[string]string{}, building: map[string]string{},
		leases:     map[LeaseID]heldLease{},
		beforeCall: func(string) error { return nil }, afterWrite: func(string) error { return nil },
	}
}

// lock starts a call: it calls beforeCall, locks mu and counts calls that may write.
func (m *memoryStore) lock(method string) error {
	err := m.beforeCall(method)
	m.mu.Lock()
	switch method {
	case "RequestBuild", "Begin", "Publish", "Sweep", "Commit":
		m.writeCalls++
	}
	return err
}

func (m *memoryStore) stateAt(boardSetIDs map[string]string, game, configHash string) BoardSetState {
	state := BoardSetState{BoardSet: BoardSet{Game: game, ConfigHash: configHash, ID: boardSetIDs[configHash]}}
	stored := m.boardSets[state.ID]
	if stored == nil {
		return state
	}
	state = stored.state
	state.Rolling = maps.Clone(stored.state.Rolling)
	return state
}

func (m *memoryStore) ServedState(_ context.Context, game, configHash string) (BoardSetState, error) {
	err := m.lock("ServedState")
	defer m.mu.Unlock()
	if err != nil {
		return BoardSetState{}, err
	}
	state := m.stateAt(m.served, game, configHash)
	state.PendingBuild = m.building[configHash]
	return state, nil
}

func (m *memoryStore) RequestBuild(_ context.Context, _, configHash, reason string) error {
	err := m.lock("RequestBuild")
	defer m.mu.Unlock()
	if err == nil && m.building[configHash] == "" {
		m.building[configHash] = reason
	}
	return err
}

func (m *memoryStore) Begin(_ context.Context, cfg Config, newState BoardSetState, _ int64) error {
	err := m.lock("Begin")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	configHash := newState.ConfigHash
	delete(m.boardSets, m.building[configHash])
	m.building[configHash] = newState.ID
	m.boardSets[newState.ID] = &memoryBoardSet{
		state: newState, boards: map[Board]map[string]BoardEntry{}, rankings: map[Board]map[Order]map[string]float64{},
		asOf: map[Board]int64{},
	}
	m.configs = append(slices.DeleteFunc(m.configs, func(stored Config) bool { return stored.Hash() == configHash }), cfg)
	return m.afterWrite("Begin")
}

func (m *memoryStore) Publish(_ context.Context, boardSet BoardSet) error {
	err := m.lock("Publish")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	stored := m.boardSets[boardSet.ID]
	if m.building[boardSet.ConfigHash] != boardSet.ID || stored == nil || stored.state.Loading {
		return nil
	}
	delete(m.boardSets, m.served[boardSet.ConfigHash])
	delete(m.building, boardSet.ConfigHash)
	m.served[boardSet.ConfigHash] = boardSet.ID
	slices.SortStableFunc(m.configs, func(a, b Config) int {
		return cmp.Compare(boolToInt(b.Hash() == boardSet.ConfigHash), boolToInt(a.Hash() == boardSet.ConfigHash))
	})
	return m.afterWrite("Publish")
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *memoryStore) ServedConfig(_ context.Context, game string) (Config, bool, error) {
	err := m.lock("ServedConfig")
	defer m.mu.Unlock()
	for _, stored := range m.configs {
		if err == nil && stored.Game == game && m.served[stored.Hash()] != "" {
			return stored, true, nil
		}
	}
	return Config{}, false, err
}

func (m *memoryStore) Sweep(context.Context, string, string, int64) error {
	err := m.lock("Sweep")
	defer m.mu.Unlock()
	return err
}

func (m *memoryStore) SetLease(_ context.Context, leaseID LeaseID, holder string, ttl time.Duration) (bool, error) {
	method := "SetLease"
	if ttl == 0 {
		method = "ReleaseLease"
	}
	err := m.lock(method)
	defer m.mu.Unlock()
	if err != nil {
		return false, err
	}
	if lease, exists := m.leases[leaseID]; exists && lease.holder != holder && time.Now().Before(lease.expiresAt) {
		return false, nil
	}
	m.leases[leaseID] = heldLease{holder, time.Now().Add(ttl)}
	if ttl == 0 {
		delete(m.leases, leaseID)
	}
	return true, nil
}

// expireLeases ends every lease.
func (m *memoryStore) expireLeases() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.leases)
}

func (m *memoryStore) ReadEntries(_ context.Context, boardSet BoardSet, ids map[Board][]string) (map[EntryKey]BoardEntry, error) {
	err := m.lock("ReadEntries")
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	entries := map[EntryKey]BoardEntry{}
	for board, boardIDs := range ids {
		for key, entry := range m.entriesIn(boardSet, []Board{board}, boardIDs) {
			entries[key] = entry
		}
	}
	return entries, nil
}

func (m *memoryStore) entriesIn(boardSet BoardSet, boards []Board, ids []string) map[EntryKey]BoardEntry {
	entries := map[EntryKey]BoardEntry{}
	stored := m.boardSets[boardSet.ID]
	for _, board := range boards {
		for _, id := range ids {
			if stored == nil {
				continue
			}
			if entry, exists := stored.boards[board][id]; exists {
				entries[EntryKey{board, id}] = entry
			}
		}
	}
	return entries
}

func (m *memoryStore) ReadMembers(_ context.Context, boardSet BoardSet, rankingID RankingID, from int64, limit int) ([]string, error) {
	err := m.lock("ReadMembers")
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	stored := m.boardSets[boardSet.ID]
	if stored == nil {
		return nil, nil
	}
	keys := stored.rankings[rankingID.Board][rankingID.Order]
	members := slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b))
	})
	var ids []string
	for _, member := range members[min(int(from), len(members)):min(int(from)+limit, len(members))] {
		_, id, _ := strings.Cut(member, ":")
		ids = append(ids, id)
	}
	return ids, nil
}

func (m *memoryStore) Inspect(_ context.Context, boardSet BoardSet, orders []Order, boards []Board, ids []string) (Inspection, error) {
	err := m.lock("Inspect")
	defer m.mu.Unlock()
	if err != nil {
		return Inspection{}, err
	}
	stored := m.boardSets[boardSet.ID]
	if stored == nil || stored.state.Version == "" {
		return Inspection{}, ErrStale
	}
	inspection := Inspection{Progress: stored.state.Progress, Sizes: map[SizeKey]int64{}, Entries: map[EntryKey]InspectedEntry{}}
	inspection.Rolling = maps.Clone(inspection.Rolling)
	for key, entry := range m.entriesIn(boardSet, boards, ids) {
		keys := map[Order]float64{}
		for _, order := range orders {
			if key, exists := stored.rankings[key.Board][order][entry.Member()]; exists {
				keys[order] = key
			}
		}
		inspection.Entries[key] = InspectedEntry{entry, keys}
	}
	for _, board := range boards {
		inspection.Sizes[SizeKey{board, ""}] = int64(len(stored.boards[board]))
		for _, order := range orders {
			inspection.Sizes[SizeKey{board, order}] = int64(len(stored.rankings[board][order]))
		}
	}
	return inspection, nil
}

func (m *memoryStore) Commit(_ context.Context, boardSet BoardSet, txs []Transaction) error {
	err := m.lock("Commit")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	for _, tx := range txs {
		stored := m.boardSets[boardSet.ID]
		switch {
		case stored == nil:
			return ErrStale
		case stored.state.Version == tx.Version:
			continue
		case stored.state.Version != tx.ExpectedVersion:
			return ErrStale
		}
		m.transactions++
		m.maxWrites = max(m.maxWrites, stored.applyTransaction(tx))
	}
	return m.afterWrite("Commit")
}

// countWrites returns the largest number of writes that a transaction can need.
func countWrites(tx Transaction) int {
	n := len(tx.DeletedDays)
	for _, change := range tx.Changes {
		n += len(change.Entries) * tx.Config.writesPerEntry()
	}
	return n
}

// applyTransaction applies a transaction, and returns the number of its writes.
func (s *memoryBoardSet) applyTransaction(tx Transaction) (writes int) {
	writes = len(tx.DeletedDays)
	for board, change := range tx.Changes {
		writes += s.change(tx.Config, board, change)
	}
	for _, day := range tx.DeletedDays {
		for _, kind := range Kinds() {
			delete(s.boards, Board{kind, day})
			delete(s.rankings, Board{kind, day})
			delete(s.asOf, Board{kind, day})
		}
	}
	// The real store writes progress as JSON. So the fake encodes and decodes it too.
	raw, err := json.Marshal(tx.Progress)
	if err != nil {
		panic(err)
	}
	s.state.Progress = Progress{}
	if err := json.Unmarshal(raw, &s.state.Progress); err != nil {
		panic(err)
	}
	s.state.Version, s.state.Loading = tx.Version, tx.Loading
	return writes
}

// change applies a change. It counts each entry and each added or removed member as one write.
func (s *memoryBoardSet) change(cfg Config, board Board, change Change) (writes int) {
	if s.boards[board] == nil {
		s.boards[board], s.rankings[board] = map[string]BoardEntry{}, map[Order]map[string]float64{}
	}
	if change.AsOf > 0 {
		s.asOf[board] = change.AsOf
	}
	for _, entry := range change.Entries {
		former := s.boards[board][entry.ID].Member()
		for _, members := range s.rankings[board] {
			if _, isRanked := members[former]; isRanked {
				delete(members, former)
				writes++
			}
		}
		writes++
		if entry.Aggregates.Matches == 0 {
			delete(s.boards[board], entry.ID)
			continue
		}
		s.boards[board][entry.ID] = entry
		for order, key := range cfg.keys(entry.Aggregates) {
			if s.rankings[board][order] == nil {
				s.rankings[board][order] = map[string]float64{}
			}
			s.rankings[board][order][entry.Member()] = key
			writes++
		}
	}
	return writes
}
