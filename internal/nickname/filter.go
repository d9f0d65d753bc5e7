package nickname

import (
	"fmt"
	"sync"

	"github.com/bits-and-blooms/bloom/v3"
)

// Filter is a Bloom filter of skeletons: a view that says at once, without
// asking anybody, that a name is not taken. It forgets nothing, so a name
// given up stays "perhaps taken" until the filter is built anew. Any goroutine
// may use it.
type Filter struct {
	mu    sync.RWMutex
	bloom *bloom.BloomFilter
	size  int
}

// NewFilter sizes a filter for so many names and a rate of false "perhaps"
// between 0 and 1 at that fill: 1.2 bytes a name at 0.01. More names than
// expected raise the rate and lose nothing. It panics on a rate that is none.
func NewFilter(expected uint, fp float64) *Filter {
	if !(fp > 0 && fp < 1) {
		panic(fmt.Sprintf("nickname: a filter with a false positive rate of %v: give one between 0 and 1", fp))
	}
	return &Filter{bloom: bloom.NewWithEstimates(max(expected, 1), fp)}
}

// Add puts a skeleton in. Adding it again changes nothing.
func (f *Filter) Add(skeleton string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.bloom.TestAndAddString(skeleton) {
		f.size++
	}
}

// MayHave reports whether the skeleton may have been added. False is certain;
// true means: ask the ledger.
func (f *Filter) MayHave(skeleton string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.bloom.TestString(skeleton)
}

// Len counts the skeletons added that were new to the filter: all different
// ones, but for the few that it mistook for known.
func (f *Filter) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.size
}
