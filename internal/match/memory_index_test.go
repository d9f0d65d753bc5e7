package match

import (
	"cmp"
	"context"
	"slices"
)

func (m *memoryStore) ListDue(_ context.Context, before int64) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []string
	for id, stored := range m.matches {
		if stored.dueAt > 0 && stored.dueAt < before {
			due = append(due, id)
		}
	}
	slices.SortFunc(due, cmp.Compare)
	return due, nil
}

func (m *memoryStore) RemoveIndexEntries(_ context.Context, match string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.matches, match)
	return nil
}

func (m *memoryStore) RemoveOrphan(_ context.Context, match string, dueBefore int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.matches[match]
	if stored == nil || stored.dueAt >= dueBefore || stored.state.Phase.hasEnded() {
		return false, nil
	}
	delete(m.matches, match)
	return true, nil
}

func (m *memoryStore) ReadProgress(_ context.Context, matches []string) (map[string]Progress, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	progress := map[string]Progress{}
	for _, id := range matches {
		stored := m.matches[id]
		_, isPending := m.pending[id]
		if stored != nil && stored.state.Phase != PhaseSettled && (isPending || !stored.state.Phase.hasEnded()) {
			progress[id] = Progress{Seq: stored.state.Seq, Version: stored.state.Version}
		}
	}
	return progress, nil
}

func (m *memoryStore) IsPending(_ context.Context, match string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.pending[match]
	return ok, nil
}

func (m *memoryStore) CountUnsettled(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.pending)), nil
}

// markSettled does the same as MarkSettled of redismatch.
func (m *memoryStore) markSettled(result Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pending, result.Match)
	state := &m.matches[result.Match].state
	state.Phase = PhaseSettled
	if result.CountsForLeaderboards {
		state.Counted, state.Ratings = true, result.Ratings()
	}
}

// copyMatch copies a match. restoreMatch restores the copy, as when a replica
// that was behind is promoted.
func (m *memoryStore) copyMatch(id string) *storedMatch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.matches[id].clone()
}

func (m *memoryStore) restoreMatch(id string, stored *storedMatch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.matches[id] = stored
}

// clear deletes everything.
func (m *memoryStore) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.matches)
	clear(m.pending)
}
