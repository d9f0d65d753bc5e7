package nickname

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/bits-and-blooms/bloom/v3"
)

// MaxFilter bounds the names that a filter is made for: 160 MB at a rate of 0.01.
const MaxFilter = 1 << 27

// Filter is a Bloom filter of skeletons: a view that says at once, without
// asking anybody, that a name is not taken. It forgets nothing, so a name
// given up stays "perhaps taken" until the filter is built anew. Any goroutine
// may use it; who looks waits for nobody.
//
// Where a skeleton's bits are, and how many there have to be, is the library's;
// the bits are kept here, since its own cannot be read while one is set.
type Filter struct {
	capacity int
	rate     float64
	m        uint64 // bits
	k        uint   // of them for each skeleton
	words    []atomic.Uint64

	adding sync.Mutex // who adds, so that nothing is counted twice
	size   atomic.Int64
	set    atomic.Int64
}

// NewFilter sizes a filter for so many names, up to MaxFilter, and a rate of
// false "perhaps" between 0 and 1 at that fill: 1.2 bytes a name at 0.01. More
// names than expected raise the rate and lose nothing. It panics on a rate that
// is none.
func NewFilter(capacity int, rate float64) *Filter {
	if !(rate > 0 && rate < 1) {
		panic(fmt.Sprintf("nickname: a filter with a false positive rate of %v: give one between 0 and 1", rate))
	}
	capacity = min(max(capacity, 1), MaxFilter)
	m, k := bloom.EstimateParameters(uint(capacity), rate)
	return &Filter{capacity: capacity, rate: rate, m: uint64(m), k: max(k, 1), words: make([]atomic.Uint64, wordsFor(capacity, rate))}
}

// wordsFor is how many words the bits of a filter take.
func wordsFor(capacity int, rate float64) int {
	m, _ := bloom.EstimateParameters(uint(capacity), rate)
	return int(m+63) / 64
}

// Add puts a skeleton in, and reports whether it was new to the filter.
func (f *Filter) Add(skeleton string) bool {
	locations := bloom.Locations([]byte(skeleton), f.k)
	f.adding.Lock()
	defer f.adding.Unlock()
	set := int64(0)
	for _, l := range locations {
		at := l % f.m
		word, bit := &f.words[at/64], uint64(1)<<(at%64)
		if word.Or(bit)&bit == 0 {
			set++
		}
	}
	if set == 0 {
		return false
	}
	f.set.Add(set)
	f.size.Add(1)
	return true
}

// MayHave reports whether the skeleton may have been added. False is certain;
// true means: ask the ledger.
func (f *Filter) MayHave(skeleton string) bool {
	for _, l := range bloom.Locations([]byte(skeleton), f.k) {
		at := l % f.m
		if f.words[at/64].Load()&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}

// Len counts the skeletons added that were new to the filter: all different
// ones, but for the few that it mistook for known.
func (f *Filter) Len() int { return int(f.size.Load()) }

// Cap is how many skeletons it was made for.
func (f *Filter) Cap() int { return f.capacity }

// Bytes is the memory that its bits take.
func (f *Filter) Bytes() int { return len(f.words) * 8 }

// Rate is the rate of false "perhaps" that it was made for, once it is full.
func (f *Filter) Rate() float64 { return f.rate }

// Estimate is the rate of false "perhaps" by the bits that are set now: the
// chance that all bits of a skeleton are.
func (f *Filter) Estimate() float64 {
	return math.Pow(float64(f.set.Load())/float64(f.m), float64(f.k))
}

// Theory is the rate to be expected of so many different skeletons,
// (1-e^(-kn/m))^k (Bloom 1970; Broder and Mitzenmacher 2004, section 2.1).
func (f *Filter) Theory(skeletons int) float64 {
	k := float64(f.k)
	return math.Pow(1-math.Exp(-k*float64(skeletons)/float64(f.m)), k)
}
