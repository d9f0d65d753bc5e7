package checker

import (
	"maps"
	"slices"
	"sync"
)

// Checker follows all matches of a run and judges each of them once. It is safe for
// concurrent use. Callers set the exported fields before they make the first View.
type Checker struct {
	LimitMS     int64 // the configured time limit of questions; 0: unknown, not checked
	RevealMS    int64 // the configured pause after a question; 0: unknown, not checked
	Strangers   bool  // matches may have players who are no clients of this run
	Leavers     bool  // players may leave, and so end matches early
	ArenasCount bool  // the matches of arenas count for leaderboards
	KeepAnswers bool  // for Stored to compare them, too

	Violations Violations

	mu      sync.Mutex
	matches map[string]*match
	summary Summary
}

// Summary describes all judged matches.
type Summary struct {
	Matches map[string]int // by mode
	Pushes  int            // numbered pushes; each counts once per match
	Unsure  int            // matches with an answer whose verdict is unknown
	LateMS  []int64        // of all questions: by how many ms each opened too late
}

func (c *Checker) match(id string) *match {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.matches == nil {
		c.matches = make(map[string]*match)
	}
	m := c.matches[id]
	if m == nil {
		m = &match{id: id, parts: make(map[string]*part)}
		c.matches[id] = m
	}
	return m
}

// Summary describes all matches that have been judged.
func (c *Checker) Summary() Summary {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.summary
	s.Matches, s.LateMS = maps.Clone(s.Matches), slices.Clone(s.LateMS)
	return s
}

func (c *Checker) sorted() (all []*match) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(c.matches)) {
		all = append(all, c.matches[id])
	}
	return all
}
