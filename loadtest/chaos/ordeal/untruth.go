package ordeal

import (
	"fmt"
	"slices"
	"sync"
)

// mostUntruths is how many untruths are kept; all are counted.
const mostUntruths = 30

// untruths are what was found to be false. It is safe for concurrent use; the
// zero value is ready.
type untruths struct {
	mu    sync.Mutex
	count int
	kept  []string
}

func (u *untruths) add(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
	if len(u.kept) < mostUntruths {
		u.kept = append(u.kept, fmt.Sprintf(format, args...))
	}
}

func (u *untruths) all() (kept []string, count int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.kept), u.count
}
