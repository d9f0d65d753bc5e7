package checker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxListed is how many violations are listed; all are counted.
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
	if len(v.listed) < maxListed {
		v.listed = append(v.listed, fmt.Sprintf(format, args...))
	}
}

// All returns the first violations, and the number of all violations.
func (v *Violations) All() (listed []string, count int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.listed), v.count
}

func violation(format string, args ...any) error {
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
