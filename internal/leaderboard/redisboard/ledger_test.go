package redisboard_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	lb "laststand/internal/leaderboard"
)

// ledger is a ledger in memory that can be rolled back.
type ledger struct {
	mu     sync.Mutex
	epoch  string
	rows   []lb.Row
	day    string
	nextID int
}

func newLedger() *ledger { return &ledger{epoch: "e1", day: "2026-11-20"} }

func (l *ledger) Epoch() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// replace puts an empty ledger in this one's place.
func (l *ledger) replace() {
	l.rollBack(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch += "'"
}

func (l *ledger) Rows(_ context.Context, _ string, after int64, limit int) ([]lb.Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := min(int(after), len(l.rows))
	return slices.Clone(l.rows[from:min(from+limit, len(l.rows))]), nil
}

func (l *ledger) result(player string, p lb.Parts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(lb.Row{Kind: lb.ResultRow, Player: player, Parts: p})
}

func (l *ledger) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, err := time.Parse(time.DateOnly, l.day)
	if err != nil {
		panic(err)
	}
	l.day = d.AddDate(0, 0, 1).Format(time.DateOnly)
	l.add(lb.Row{Kind: lb.TurnRow})
}

func (l *ledger) add(r lb.Row) {
	l.nextID++
	r.Pos, r.ID = int64(len(l.rows)+1), fmt.Sprintf("r%d", l.nextID)
	r.Day, r.At = l.day, 1_000_000+int64(l.nextID)
	l.rows = append(l.rows, r)
}

// rollBack forgets the rows above n.
func (l *ledger) rollBack(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = l.rows[:n:n]
	l.day = "2026-11-20"
	if n > 0 {
		l.day = l.rows[n-1].Day
	}
}

// upTo returns the rows up to a position.
func (l *ledger) upTo(pos int64) []lb.Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows[:pos])
}

func (l *ledger) all() []lb.Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows)
}

func (l *ledger) today() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.day
}
