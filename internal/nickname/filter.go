package nickname

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/bits-and-blooms/bloom/v3"
)

// MaxFilter is the largest capacity of a filter: 160 MB at a rate of 0.01.
const MaxFilter = 1 << 27

// Filter is a Bloom filter of skeletons. It says at once, without a query, that a name
// is not taken. It forgets nothing: a name that was given up stays "possibly taken"
// until the filter is rebuilt. It is safe for concurrent use, and readers never wait.
//
// The library decides which bits a skeleton has and how many bits there are. The bits
// are stored here, because the library's filter cannot be read during a write.
type Filter struct {
	capacity  int
	rate      float64
	bitCount  uint64 // number of bits
	hashCount uint   // bits per skeleton
	words     []atomic.Uint64

	addMu   sync.Mutex // serialises Add, so that nothing is counted twice
	added   atomic.Int64
	bitsSet atomic.Int64
}

// NewFilter makes a filter for up to MaxFilter names. rate is the share of false
// "possibly taken" answers of a full filter, between 0 and 1. A rate of 0.01 takes 1.2
// bytes per name. More names raise the rate and lose nothing. NewFilter panics if rate
// is out of range.
func NewFilter(capacity int, rate float64) *Filter {
	if !(rate > 0 && rate < 1) {
		panic(fmt.Sprintf("nickname: a filter with a false positive rate of %v: give one between 0 and 1", rate))
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

// Add adds a skeleton, and reports whether it was new to the filter.
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

// MayHave reports whether the skeleton may have been added. False is certain. True means
// that the ledger must be asked.
func (f *Filter) MayHave(skeleton string) bool {
	for _, l := range bloom.Locations([]byte(skeleton), f.hashCount) {
		at := l % f.bitCount
		if f.words[at/64].Load()&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}

// Len returns the number of added skeletons that were new to the filter. It lacks the
// few that the filter mistook for known.
func (f *Filter) Len() int { return int(f.added.Load()) }

// Cap returns the number of skeletons for which the filter was made.
func (f *Filter) Cap() int { return f.capacity }

// Bytes returns the memory of the bits.
func (f *Filter) Bytes() int { return len(f.words) * 8 }

// Rate returns the rate of false answers for which the filter was made.
func (f *Filter) Rate() float64 { return f.rate }

// EstimatedRate returns the rate of false answers by the bits that are set now: the
// chance that all bits of a skeleton are set.
func (f *Filter) EstimatedRate() float64 {
	return math.Pow(float64(f.bitsSet.Load())/float64(f.bitCount), float64(f.hashCount))
}

// TheoreticalRate returns the expected rate for a number of different skeletons:
// (1-e^(-kn/m))^k (Bloom 1970; Broder and Mitzenmacher 2004, section 2.1).
func (f *Filter) TheoreticalRate(skeletons int) float64 {
	k := float64(f.hashCount)
	return math.Pow(1-math.Exp(-k*float64(skeletons)/float64(f.bitCount)), k)
}
