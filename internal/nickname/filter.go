package nickname

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/bits-and-blooms/bloom/v3"
)

// MaxFilterCapacity is the largest capacity of a filter, in names. Such a filter takes
// 160 MB at a false positive rate of 0.01.
const MaxFilterCapacity = 1 << 27

// Filter is a Bloom filter of skeletons. It can report, without a query, that a name is not
// taken. Skeletons cannot be removed: a name that is free again stays "possibly
// taken" until the filter is built again. It is safe for concurrent use.
type Filter struct {
	capacity          int
	falsePositiveRate float64 // expected when capacity skeletons are added

	mu         sync.RWMutex
	bits       *bloom.BloomFilter
	addedCount int // number of added skeletons that were new
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
	return &Filter{capacity: capacity, falsePositiveRate: falsePositiveRate, bits: bloom.NewWithEstimates(uint(capacity), falsePositiveRate)}
}

// Add adds a skeleton, and reports whether it set at least one new bit.
func (f *Filter) Add(skeleton string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	isNew := !f.bits.TestOrAddString(skeleton)
	if isNew {
		f.addedCount++
	}
	return isNew
}

// MayContain reports whether the skeleton may have been added. False is certain. After
// true, the caller must ask the ledger.
func (f *Filter) MayContain(skeleton string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.bits.TestString(skeleton)
}

// Len returns the number of calls of Add that returned true. It is slightly lower than the
// number of different skeletons, because Add takes a few new ones for known.
func (f *Filter) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.addedCount
}

// Cap returns the number of skeletons for which the filter was made.
func (f *Filter) Cap() int { return f.capacity }

// Bytes returns the memory that the bits take, in bytes.
func (f *Filter) Bytes() int { return len(f.bits.BitSet().Words()) * 8 }

// FalsePositiveRate returns the rate for which the filter was made.
func (f *Filter) FalsePositiveRate() float64 { return f.falsePositiveRate }

// EstimatedFalsePositiveRate computes the current rate from the number of set bits: the
// probability that all bits of a random skeleton are set.
func (f *Filter) EstimatedFalsePositiveRate() float64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return math.Pow(float64(f.bits.BitSet().Count())/float64(f.bits.Cap()), float64(f.bits.K()))
}

// ErrCorruptSnapshot means that ParseSnapshot cannot read a snapshot.
var ErrCorruptSnapshot = errors.New("the snapshot is corrupt")

// SnapshotInfo says from which ledger and with which rules a snapshot was made.
type SnapshotInfo struct {
	Game      string `json:"game"`
	Epoch     string `json:"epoch"`     // epoch of the ledger
	Rules     int    `json:"rules"`     // RulesVersion
	Watermark int64  `json:"watermark"` // time by the ledger's clock, epoch ms; the filter contains all names registered up to then
}

// snapshotHeader describes the filter of a snapshot. Size is the filter's Len. A snapshot
// is a line with the header in JSON, the bits of the filter as little-endian words, and
// the SHA-256 of both.
type snapshotHeader struct {
	SnapshotInfo
	Capacity int     `json:"capacity"`
	Rate     float64 `json:"rate"`
	Size     int     `json:"size"`
}

// Snapshot returns the filter as ParseSnapshot reads it. The info's Watermark must be a
// time before the call.
func (f *Filter) Snapshot(info SnapshotInfo) ([]byte, error) {
	f.mu.RLock()
	words, size := slices.Clone(f.bits.BitSet().Words()), f.addedCount
	f.mu.RUnlock()
	header, err := json.Marshal(snapshotHeader{info, f.capacity, f.falsePositiveRate, size})
	if err != nil {
		return nil, fmt.Errorf("nickname: snapshot: %w", err)
	}
	snapshot, err := binary.Append(append(header, '\n'), binary.LittleEndian, words)
	if err != nil {
		return nil, fmt.Errorf("nickname: snapshot: %w", err)
	}
	checksum := sha256.Sum256(snapshot)
	return append(snapshot, checksum[:]...), nil
}

// ParseSnapshot reads a snapshot. The error wraps ErrCorruptSnapshot.
func ParseSnapshot(snapshot []byte) (*Filter, SnapshotInfo, error) {
	content := snapshot[:max(0, len(snapshot)-sha256.Size)]
	if checksum := sha256.Sum256(content); !bytes.Equal(checksum[:], snapshot[len(content):]) {
		return nil, SnapshotInfo{}, fmt.Errorf("%w: its checksum does not match", ErrCorruptSnapshot)
	}
	text, words, _ := bytes.Cut(content, []byte("\n"))
	var header snapshotHeader
	if json.Unmarshal(text, &header) != nil || header.Capacity < 1 || header.Capacity > MaxFilterCapacity || !(header.Rate > 0.0001 && header.Rate < 1) {
		return nil, SnapshotInfo{}, fmt.Errorf("%w: its header cannot be read or is out of range", ErrCorruptSnapshot)
	}
	if bitCount, _ := bloom.EstimateParameters(uint(header.Capacity), header.Rate); len(words) != int(bitCount+63)/64*8 {
		return nil, SnapshotInfo{}, fmt.Errorf("%w: the size of its filter does not match its capacity", ErrCorruptSnapshot)
	}
	filter := NewFilter(header.Capacity, header.Rate)
	filter.addedCount = header.Size
	_, err := binary.Decode(words, binary.LittleEndian, filter.bits.BitSet().Words())
	return filter, header.SnapshotInfo, err
}
