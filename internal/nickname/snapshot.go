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

// Errors of ParseSnapshot.
var (
	ErrCorruptSnapshot = errors.New("the snapshot is corrupt")
	ErrSnapshotVersion = errors.New("the snapshot has another format version")
)

// SnapshotInfo says from which ledger and with which rules a snapshot was made.
type SnapshotInfo struct {
	Game      string `json:"game"`
	Epoch     string `json:"epoch"`     // epoch of the ledger
	Rules     int    `json:"rules"`     // RulesVersion
	Watermark int64  `json:"watermark"` // time by the ledger's clock, epoch ms; the filter contains all names registered up to then
}

// A snapshot has these parts: a line of text with the version, a line with the header in
// JSON, the bits of the filter as little-endian words, and the SHA-256 of all parts before
// it.
const (
	snapshotFirstLine = "laststand names, version %d"
	snapshotVersion   = 2
)

// snapshotHeader describes the filter of a snapshot. Size is the filter's Len.
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
	snapshot := fmt.Appendf(nil, snapshotFirstLine+"\n%s\n", snapshotVersion, header)
	if snapshot, err = binary.Append(snapshot, binary.LittleEndian, words); err != nil {
		return nil, fmt.Errorf("nickname: snapshot: %w", err)
	}
	checksum := sha256.Sum256(snapshot)
	return append(snapshot, checksum[:]...), nil
}

// ParseSnapshot reads a snapshot. The error wraps ErrCorruptSnapshot or
// ErrSnapshotVersion.
func ParseSnapshot(snapshot []byte) (*Filter, SnapshotInfo, error) {
	content := snapshot[:max(0, len(snapshot)-sha256.Size)]
	firstLine, rest, _ := bytes.Cut(content, []byte("\n"))
	version := 0
	if _, err := fmt.Sscanf(string(firstLine), snapshotFirstLine, &version); err != nil {
		return nil, SnapshotInfo{}, corruptError("it does not begin like a snapshot")
	}
	if version != snapshotVersion {
		return nil, SnapshotInfo{}, fmt.Errorf("%w: version %d; this program reads version %d", ErrSnapshotVersion, version, snapshotVersion)
	}
	if checksum := sha256.Sum256(content); !bytes.Equal(checksum[:], snapshot[len(content):]) {
		return nil, SnapshotInfo{}, corruptError("its checksum does not match")
	}
	text, words, _ := bytes.Cut(rest, []byte("\n"))
	var header snapshotHeader
	if json.Unmarshal(text, &header) != nil {
		return nil, SnapshotInfo{}, corruptError("its header cannot be read")
	}
	filter, err := header.newFilter(words)
	if err != nil {
		return nil, SnapshotInfo{}, err
	}
	return filter, header.SnapshotInfo, nil
}

// newFilter returns the filter that the header describes, with the bits in words.
func (header *snapshotHeader) newFilter(words []byte) (*Filter, error) {
	if header.Capacity < 1 || header.Capacity > MaxFilterCapacity || !(header.Rate > 0.0001 && header.Rate < 1) {
		return nil, corruptError("the size of its filter is out of range")
	}
	if bitCount, _ := bloom.EstimateParameters(uint(header.Capacity), header.Rate); len(words) != int(bitCount+63)/64*8 {
		return nil, corruptError("the size of its filter does not match its capacity")
	}
	filter := NewFilter(header.Capacity, header.Rate)
	filter.addedCount = header.Size
	_, err := binary.Decode(words, binary.LittleEndian, filter.bits.BitSet().Words())
	return filter, err
}

func corruptError(problem string) error { return fmt.Errorf("%w: %s", ErrCorruptSnapshot, problem) }
