package leaderboard

import (
	"crypto/rand"
	"maps"
)

// Maximum numbers of writes per transaction. Each changed entry, added member and removed
// member is one write. Evictions have a lower maximum because they run for minutes. With
// these limits each script takes less than 5 ms on boards of ten million entries.
const (
	maxTransactionWrites = 250
	maxEvictionWrites    = 125
)

// entryKey identifies one entry of one board.
type entryKey struct {
	board Board
	id    string
}

// planner turns changes of entries into transactions. Its state and entries are those after
// the changes so far.
type planner struct {
	cfg       Config
	plannedAt int64
	state     BoardSetState
	entries   map[entryKey]BoardEntry // those that the changes need; entries of no holder are missing
	txs       []Transaction

	// The open transaction.
	isOpen     bool
	isChanged  map[entryKey]bool
	changes    []Change        // entries have only ids until the transaction is closed
	indexes    map[Board]int   // of changes
	asOf       map[Board]int64 // commit time of the newest result, epoch ms
	writeCount int             // reserved writes, at most maxTransactionWrites
}

// writesPerEntry is the maximum number of writes for a change of one entry: the entry, and a
// removed and an added member per ranking.
func (c Config) writesPerEntry() int { return 1 + 2*len(c.RankingOrders()) }

// foundEntries combines requests and their results, which have the same order.
func foundEntries(requests []EntryRequest, results []EntryResult) map[entryKey]BoardEntry {
	entries := map[entryKey]BoardEntry{}
	for i, request := range requests {
		for _, entry := range results[i].Found {
			entries[entryKey{request.Board, entry.ID}] = entry
		}
	}
	return entries
}

// reserveWrites makes sure that the open transaction has room for a number of writes. If
// the open transaction is too full, it closes that one and opens another.
func (p *planner) reserveWrites(writes int) {
	if p.writeCount+writes > maxTransactionWrites {
		p.closeTransaction()
	}
	if !p.isOpen {
		p.isOpen, p.writeCount = true, 0
		p.isChanged, p.changes, p.indexes, p.asOf = map[entryKey]bool{}, nil, map[Board]int{}, map[Board]int64{}
	}
	p.writeCount += writes
}

// setEntry stores an entry as it is after a change, or removes it if it has no match.
func (p *planner) setEntry(board Board, after BoardEntry) {
	key := entryKey{board, after.ID}
	if !p.isChanged[key] {
		p.isChanged[key] = true
		i, isKnown := p.indexes[board]
		if !isKnown {
			i = len(p.changes)
			p.indexes[board], p.changes = i, append(p.changes, Change{Board: board})
		}
		p.changes[i].Entries = append(p.changes[i].Entries, BoardEntry{ID: after.ID})
	}
	if after.Aggregates.Matches > 0 {
		p.entries[key] = after
	} else {
		delete(p.entries, key)
	}
}

// closeTransaction adds the open transaction to txs. It does nothing if none is open.
func (p *planner) closeTransaction() {
	if !p.isOpen {
		return
	}
	tx := p.state.nextTransaction(p.plannedAt)
	for i := range p.changes {
		change := &p.changes[i]
		change.AsOf = p.asOf[change.Board]
		for j, entry := range change.Entries {
			if after, exists := p.entries[entryKey{change.Board, entry.ID}]; exists {
				change.Entries[j] = after
			}
		}
	}
	tx.Config, tx.Changes = p.cfg, p.changes
	p.state.Version = tx.Version
	p.txs = append(p.txs, tx)
	p.isOpen = false
}

// nextTransaction returns a transaction without changes. It expects the version of s and
// stores the progress of s.
func (s BoardSetState) nextTransaction(now int64) Transaction {
	tx := Transaction{ExpectedVersion: s.Version, Version: rand.Text(), Loading: s.Loading, PlannedAt: now, Progress: s.Progress}
	tx.Rolling = maps.Clone(s.Rolling)
	return tx
}
