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
const MaxFilterCapacity = 1 << 27

// Filter is a Bloom filter of skeletons. It can report, without a query, that a name is not
// taken. Skeletons cannot be removed: a name that is free again stays "possibly
// taken" until the filter is built again. It is safe for concurrent use, and readers never
// wait.
//
// The library bloom computes the number of bits and the bits of a skeleton. This package
// stores the bits itself, because the library's filter cannot be read during a write.
type Filter struct {
	capacity          int
	falsePositiveRate float64         // expected when capacity skeletons are added
	bitCount          uint64          // number of bits
	hashCount         uint            // number of bits per skeleton
	words             []atomic.Uint64 // the bits, 64 per word

	addMutex    sync.Mutex   // serialises Add, so that nothing is counted twice
	addedCount  atomic.Int64 // number of added skeletons that were new
	setBitCount atomic.Int64
}

// NewFilter returns an empty filter for capacity names, at most MaxFilterCapacity. The
// false positive rate is the fraction of free names that a full filter reports as possibly
// taken; it is between 0 and 1. A rate of 0.01 takes 1.2 bytes per name. If more names are
// added, the rate rises, but no name is lost. NewFilter panics if the rate is out of
// range.
func NewFilter(capacity int, falsePositiveRate float64) *Filter {
	if !(falsePositiveRate > 0 && falsePositiveRate < 1) {
		panic(fmt.Sprintf("nickname: the false positive rate %v is out of range; use a number between 0 and 1", falsePositiveRate))
	}
	capacity = min(max(capacity, 1), MaxFilterCapacity)
	bitCount, hashCount := bloom.EstimateParameters(uint(capacity), falsePositiveRate)
	return &Filter{capacity: capacity, falsePositiveRate: falsePositiveRate, bitCount: uint64(bitCount), hashCount: max(hashCount, 1), words: make([]atomic.Uint64, wordCount(capacity, falsePositiveRate))}
}

// wordCount returns the number of 64-bit words of a filter.
func wordCount(capacity int, falsePositiveRate float64) int {
	bitCount, _ := bloom.EstimateParameters(uint(capacity), falsePositiveRate)
	return int(bitCount+63) / 64
}

// Add adds a skeleton, and reports whether it set at least one new bit.
func (f *Filter) Add(skeleton string) bool {
	locations := bloom.Locations([]byte(skeleton), f.hashCount)
	f.addMutex.Lock()
	defer f.addMutex.Unlock()
	newBits := int64(0)
	for _, location := range locations {
		bitIndex := location % f.bitCount
		word, bit := &f.words[bitIndex/64], uint64(1)<<(bitIndex%64)
		if word.Or(bit)&bit == 0 {
			newBits++
		}
	}
	if newBits == 0 {
		return false
	}
	f.setBitCount.Add(newBits)
	f.addedCount.Add(1)
	return true
}

// MayContain reports whether the skeleton may have been added. False is certain. After
// true, the caller must ask the ledger.
func (f *Filter) MayContain(skeleton string) bool {
	for _, location := range bloom.Locations([]byte(skeleton), f.hashCount) {
		bitIndex := location % f.bitCount
		if f.words[bitIndex/64].Load()&(1<<(bitIndex%64)) == 0 {
			return false
		}
	}
	return true
}

// Len returns the number of calls of Add that returned true. It is slightly lower than the
// number of different skeletons, because Add takes a few new ones for known.
func (f *Filter) Len() int { return int(f.addedCount.Load()) }

// Cap returns the number of skeletons for which the filter was made.
func (f *Filter) Cap() int { return f.capacity }

// Bytes returns the memory that the bits take, in bytes.
func (f *Filter) Bytes() int { return len(f.words) * 8 }

// FalsePositiveRate returns the rate for which the filter was made.
func (f *Filter) FalsePositiveRate() float64 { return f.falsePositiveRate }

// EstimatedFalsePositiveRate computes the current rate from the number of set bits: the
// probability that all bits of a random skeleton are set.
func (f *Filter) EstimatedFalsePositiveRate() float64 {
	return math.Pow(float64(f.setBitCount.Load())/float64(f.bitCount), float64(f.hashCount))
}

// ExpectedFalsePositiveRate returns the rate that theory predicts for n different
// skeletons, k bits per skeleton and m bits: (1-e^(-kn/m))^k (Bloom 1970; Broder and
// Mitzenmacher 2004, section 2.1).
func (f *Filter) ExpectedFalsePositiveRate(skeletons int) float64 {
	hashCount := float64(f.hashCount)
	return math.Pow(1-math.Exp(-hashCount*float64(skeletons)/float64(f.bitCount)), hashCount)
}
