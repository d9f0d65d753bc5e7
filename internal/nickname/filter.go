package nickname

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/bits-and-blooms/bloom/v3"
)

// MaxFilterCapacity is the largest capacity of a filter, in names. Such a filter takes
// 160 MB at a false positive rate of 0.01.
const MaxFilter = 1 << 27

// Filter is a Bloom filter of skeletons. It can report, without a query, that a name is not
// taken. Skeletons cannot be removed: a name that is free again stays "possibly
// taken" until the filter is built again. It is safe for concurrent use, and readers never
// wait.
//
// The library bloom computes the number of bits and the bits of a skeleton. This package
// stores the bits itself, because the library's filter cannot be read during a write.
type Filter struct {
	capacity  int
	rate      float64         // expected when capacity skeletons are added
	bitCount  uint64          // number of bits
	hashCount uint            // number of bits per skeleton
	words     []atomic.Uint64 // the bits, 64 per word

	addMu   sync.Mutex   // serialises Add, so that nothing is counted twice
	added   atomic.Int64 // number of added skeletons that were new
	bitsSet atomic.Int64
}

// NewFilter returns an empty filter for capacity names, at most MaxFilterCapacity. The
// false positive rate is the fraction of free names that a full filter reports as possibly
// taken; it is between 0 and 1. A rate of 0.01 takes 1.2 bytes per name. If more names are
// added, the rate rises, but no name is lost. NewFilter panics if the rate is out of
// range.
func NewFilter(capacity int, rate float64) *Filter {
	if !(rate > 0 && rate < 1) {
		panic(fmt.Sprintf("nickname: the false positive rate %v is out of range; use a number between 0 and 1", rate))
	}
	capacity = min(max(capacity, 1), MaxFilter)
	m, k := bloom.EstimateParameters(uint(capacity), rate)
	return &Filter{capacity: capacity, rate: rate, bitCount: uint64(m), hashCount: max(k, 1), words: make([]atomic.Uint64, wordCount(capacity, rate))}
}

// wordCount returns the number of 64-bit words of a filter.
func wordCount(capacity int, rate float64) int {
	m, _ := bloom.EstimateParameters(uint(capacity), rate)
	return int(m+63) / 64
}

// Add adds a skeleton, and reports whether it set at least one new bit.
func (f *Filter) Add(skeleton string) bool {
	locations := bloom.Locations([]byte(skeleton), f.hashCount)
	f.addMu.Lock()
	defer f.addMu.Unlock()
	set := int64(0)
	for _, l := range locations {
		at := l % f.bitCount
		word, bit := &f.words[at/64], uint64(1)<<(at%64)
		if word.Or(bit)&bit == 0 {
			set++
		}
	}
	if set == 0 {
		return false
	}
	f.bitsSet.Add(set)
	f.added.Add(1)
	return true
}

// MayContain reports whether the skeleton may have been added. False is certain. After
// true, the caller must ask the ledger.
func (f *Filter) MayHave(skeleton string) bool {
	for _, l := range bloom.Locations([]byte(skeleton), f.hashCount) {
		at := l % f.bitCount
		if f.words[at/64].Load()&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}

// Len returns the number of calls of Add that returned true. It is slightly lower than the
// number of different skeletons, because Add takes a few new ones for known.
func (f *Filter) Len() int { return int(f.added.Load()) }

// Cap returns the number of skeletons for which the filter was made.
func (f *Filter) Cap() int { return f.capacity }

// Bytes returns the memory that the bits take, in bytes.
func (f *Filter) Bytes() int { return len(f.words) * 8 }

// FalsePositiveRate returns the rate for which the filter was made.
func (f *Filter) Rate() float64 { return f.rate }

// EstimatedFalsePositiveRate computes the current rate from the number of set bits: the
// probability that all bits of a random skeleton are set.
func (f *Filter) EstimatedRate() float64 {
	return math.Pow(float64(f.bitsSet.Load())/float64(f.bitCount), float64(f.hashCount))
}

// ExpectedFalsePositiveRate returns the rate that theory predicts for n different
// skeletons, k bits per skeleton and m bits: (1-e^(-kn/m))^k (Bloom 1970; Broder and
// Mitzenmacher 2004, section 2.1).
func (f *Filter) TheoreticalRate(skeletons int) float64 {
	k := float64(f.hashCount)
	return math.Pow(1-math.Exp(-k*float64(skeletons)/float64(f.bitCount)), k)
}
