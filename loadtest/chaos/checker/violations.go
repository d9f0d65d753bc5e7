package checker

import (
	"fmt"
	"slices"
	"sync"
)

// maxViolations bounds the violations that are kept; all are counted.
const maxViolations = 30

// violations are the detected violations. It is safe for concurrent use; the zero value
// is ready.
type violations struct {
	mu    sync.Mutex
	count int
	kept  []string
}

func (u *violations) add(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
	if len(u.kept) < maxViolations {
		u.kept = append(u.kept, fmt.Sprintf(format, args...))
	}
}

func (u *violations) all() (kept []string, count int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.kept), u.count
}
