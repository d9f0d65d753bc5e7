package checker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"laststand/internal/testenv"
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

	Compared int // players whose stored sums CheckStored has compared
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

// maxListed is how many different violations are listed; all are counted.
const maxListed = 100

// Violations are the detected breaches of the contract. It is safe for concurrent use;
// the zero value is empty.
type Violations struct {
	mu     sync.Mutex
	listed []string
	count  int
}

// Add records a violation.
func (v *Violations) Add(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.count++
	if line := fmt.Sprintf(format, args...); len(v.listed) < maxListed && !slices.Contains(v.listed, line) {
		v.listed = append(v.listed, line)
	}
}

// AddIf records a violation, if there is one.
func (v *Violations) AddIf(isWrong bool, format string, args ...any) {
	if isWrong {
		v.Add(format, args...)
	}
}

// All returns the first violations, each once, and the number of all violations.
func (v *Violations) All() (listed []string, count int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.listed), v.count
}

// decode decodes what a server sent. It fails by testenv.Must.
func decode[T any](data json.RawMessage) (v T) {
	err := json.Unmarshal(data, &v)
	BreachIf(err != nil, "%v: %s", err, data)
	return v
}

// BreachIf fails by testenv.Must if the server broke the contract.
func BreachIf(isBroken bool, format string, args ...any) {
	if isBroken {
		testenv.MustDo(ContractError(format, args...))
	}
}

// ContractError returns an error that wraps ErrContract.
func ContractError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrContract}, args...)...)
}

// Frame is a reply (Re is set) or a push of the server, and the time when it came.
type Frame struct {
	Re    *int64          `json:"re"`
	Type  string          `json:"type"`
	Match string          `json:"match"`
	Seq   int64           `json:"seq"`
	Data  json.RawMessage `json:"data"`

	ReceivedAt time.Time `json:"-"`
	Raw        []byte    `json:"-"`
}

// ErrContract is wrapped by errors that mean that a server broke the contract.
var ErrContract = errors.New("against the contract")
