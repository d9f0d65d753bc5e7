package nickname

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/bits"
	"sync/atomic"
)

// Errors of ReadFilter.
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

// A snapshot has these parts: a line of text with the version, the length of the header
// (4 bytes), the header in JSON, the words of the filter, and the SHA-256 of all parts before
// it. Numbers are little-endian.
const (
	snapshotFirstLine = "laststand names, version %d\n"
	snapshotVersion   = 1

	maxFirstLineBytes = 64 // bytes
	maxHeaderBytes    = 4 << 10
)

// snapshotHeader describes the filter of a snapshot. Size is the filter's Len, Words its number
// of 64-bit words.
type snapshotHeader struct {
	SnapshotInfo
	Capacity int     `json:"capacity"`
	Rate     float64 `json:"rate"`
	Size     int     `json:"size"`
	Words    int     `json:"words"`
}

// Write writes a snapshot of the filter, which ReadFilter reads. Skeletons that are added
// during the call may be missing. So the info's Watermark must be a time before the call.
func (f *Filter) Write(w io.Writer, info SnapshotInfo) error {
	checksum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, checksum), 1<<16)
	header, err := json.Marshal(snapshotHeader{SnapshotInfo: info, Capacity: f.capacity, Rate: f.falsePositiveRate, Size: f.Len(), Words: len(f.words)})
	if err != nil {
		return fmt.Errorf("nickname: snapshot: %w", err)
	}
	buffer := fmt.Appendf(nil, snapshotFirstLine, snapshotVersion)
	buffer = binary.LittleEndian.AppendUint32(buffer, uint32(len(header)))
	_, err = out.Write(append(buffer, header...))
	for i := 0; i < len(f.words) && err == nil; i++ {
		buffer = binary.LittleEndian.AppendUint64(buffer[:0], f.words[i].Load())
		_, err = out.Write(buffer)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		_, err = w.Write(checksum.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("nickname: snapshot: %w", err)
	}
	return nil
}

// ReadFilter reads a snapshot to its end. The error wraps ErrCorruptSnapshot,
// ErrSnapshotVersion, or the error of the source.
func ReadFilter(source io.Reader) (*Filter, SnapshotInfo, error) {
	checksum := sha256.New()
	reader := &checksumReader{Reader: bufio.NewReaderSize(source, 1<<16), hash: checksum}
	header, err := reader.readHeader()
	if err != nil {
		return nil, SnapshotInfo{}, err
	}
	filter, err := header.newFilter()
	if err != nil {
		return nil, SnapshotInfo{}, err
	}
	if err := reader.readWords(filter.words); err != nil {
		return nil, SnapshotInfo{}, err
	}
	if err := reader.verifyChecksum(); err != nil {
		return nil, SnapshotInfo{}, err
	}
	filter.recount(header.Size)
	return filter, header.SnapshotInfo, nil
}

// newFilter returns the empty filter that the header describes. The checksum has not been
// verified yet, so newFilter refuses sizes that would take too much memory.
func (header *snapshotHeader) newFilter() (*Filter, error) {
	if header.Capacity < 1 || header.Capacity > MaxFilterCapacity || !(header.Rate > 0.0001 && header.Rate < 1) {
		return nil, corruptError("the size of its filter is out of range")
	}
	if header.Words != wordCount(header.Capacity, header.Rate) {
		return nil, corruptError("the size of its filter does not match its capacity")
	}
	return NewFilter(header.Capacity, header.Rate), nil
}

// recount sets the counters of a filter whose words were read from a snapshot.
func (f *Filter) recount(size int) {
	set := 0
	for i := range f.words {
		set += bits.OnesCount64(f.words[i].Load())
	}
	f.addedCount.Store(int64(size))
	f.setBitCount.Store(int64(set))
}

func corruptError(problem string) error { return fmt.Errorf("%w: %s", ErrCorruptSnapshot, problem) }

// checksumReader reads parts of a snapshot and computes their checksum.
type checksumReader struct {
	*bufio.Reader
	hash hash.Hash
}

func (c *checksumReader) readHeader() (header snapshotHeader, err error) {
	line := make([]byte, 0, maxFirstLineBytes)
	for len(line) < maxFirstLineBytes && !bytes.HasSuffix(line, []byte{'\n'}) {
		char, err := c.ReadByte()
		if err != nil {
			return header, convertReadError(err)
		}
		line = append(line, char)
	}
	version := 0
	if _, err := fmt.Sscanf(string(line), snapshotFirstLine, &version); err != nil {
		return header, corruptError("it does not begin like a snapshot")
	}
	if version != snapshotVersion {
		return header, fmt.Errorf("%w: version %d; this program reads version %d", ErrSnapshotVersion, version, snapshotVersion)
	}
	c.hash.Write(line)
	length := make([]byte, 4)
	if err := c.readFull(length); err != nil {
		return header, err
	}
	n := binary.LittleEndian.Uint32(length)
	if n > maxHeaderBytes {
		return header, corruptError("the length of its header is out of range")
	}
	text := make([]byte, n)
	if err := c.readFull(text); err != nil {
		return header, err
	}
	if json.Unmarshal(text, &header) != nil {
		return header, corruptError("its header cannot be read")
	}
	return header, nil
}

func (c *checksumReader) readWords(words []atomic.Uint64) error {
	buffer := make([]byte, 1<<15)
	for len(words) > 0 {
		n := min(len(words), len(buffer)/8)
		if err := c.readFull(buffer[:n*8]); err != nil {
			return err
		}
		for i := range n {
			words[i].Store(binary.LittleEndian.Uint64(buffer[i*8:]))
		}
		words = words[n:]
	}
	return nil
}

func (c *checksumReader) verifyChecksum() error {
	expected := c.hash.Sum(nil)
	stored := make([]byte, len(expected))
	if _, err := io.ReadFull(c, stored); err != nil {
		return convertReadError(err)
	}
	if !bytes.Equal(stored, expected) {
		return corruptError("its checksum does not match")
	}
	switch _, err := c.ReadByte(); {
	case err == nil:
		return corruptError("there are bytes after its end")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("nickname: snapshot: %w", err)
	}
	return nil
}

func (c *checksumReader) readFull(buffer []byte) error {
	if _, err := io.ReadFull(c, buffer); err != nil {
		return convertReadError(err)
	}
	c.hash.Write(buffer)
	return nil
}

// convertReadError converts an error of the source.
func convertReadError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corruptError("it ends too early")
	}
	return fmt.Errorf("nickname: snapshot: %w", err)
}
