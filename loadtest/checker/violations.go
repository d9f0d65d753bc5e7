package checker

import (
	"fmt"
	"slices"
	"sync"
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
