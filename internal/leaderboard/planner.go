package leaderboard

import (
	"cmp"
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

// planner turns changes of entries into transactions. Its state and entries are those after
// the changes so far.
type planner struct {
	cfg       Config
	plannedAt int64
	state     BoardSetState
	entries   map[EntryKey]BoardEntry // those that the changes need; entries of no holder are missing, or have no match
	txs       []Transaction

	// The open transaction.
	changes    map[Board]Change // nil: no transaction is open
	writeCount int              // reserved writes, at most maxTransactionWrites
}

// writesPerEntry is the maximum number of writes for a change of one entry: the entry, and a
// removed and an added member per ranking.
func (c Config) writesPerEntry() int { return 1 + 2*len(c.RankingOrders()) }

// reserveWrites makes sure that the open transaction has room for a number of writes. If
// the open transaction is too full, it closes that one and opens another.
func (p *planner) reserveWrites(writes int) {
	if p.writeCount+writes > maxTransactionWrites {
		p.closeTransaction()
	}
	if p.changes == nil {
		p.changes, p.writeCount = map[Board]Change{}, 0
	}
	p.writeCount += writes
}

// setEntry stores an entry as it is after a change, or removes it if it has no match. asOf is
// the commit time (epoch ms) of the board's newest result; 0 if the change adds none.
func (p *planner) setEntry(board Board, after BoardEntry, asOf int64) {
	if after.Aggregates.Matches == 0 {
		after = BoardEntry{ID: after.ID}
	}
	change, isChanged := p.changes[board]
	if !isChanged {
		change.Entries = map[string]BoardEntry{}
	}
	change.Entries[after.ID], change.AsOf = after, cmp.Or(asOf, change.AsOf)
	p.changes[board], p.entries[EntryKey{board, after.ID}] = change, after
}

// closeTransaction adds the open transaction to txs. It does nothing if none is open.
func (p *planner) closeTransaction() {
	if p.changes == nil {
		return
	}
	tx := p.state.nextTransaction(p.plannedAt)
	tx.Config, tx.Changes = p.cfg, p.changes
	p.state.Version, p.changes = tx.Version, nil
	p.txs = append(p.txs, tx)
}

// nextTransaction returns a transaction without changes. It expects the version of s and
// stores the progress of s.
func (s BoardSetState) nextTransaction(now int64) Transaction {
	tx := Transaction{ExpectedVersion: s.Version, Version: rand.Text(), Loading: s.Loading, PlannedAt: now, Progress: s.Progress}
	tx.Rolling = maps.Clone(s.Rolling)
	return tx
}
