package nickname

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"
)

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
