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

// A snapshot has these parts: a line of text with the version, the length of the head
// (4 bytes), the head in JSON, the words of the filter, and the SHA-256 of all parts before
// it. Numbers are little-endian.
const (
	snapshotLine    = "laststand names, version %d\n"
	snapshotVersion = 1

	maxLine = 64      // bytes
	maxHead = 4 << 10 // bytes
)

// snapshotHead describes the filter of a snapshot. Size is the filter's Len, Words its number
// of 64-bit words.
type snapshotHead struct {
	SnapshotInfo
	Capacity int     `json:"capacity"`
	Rate     float64 `json:"rate"`
	Size     int     `json:"size"`
	Words    int     `json:"words"`
}

// Write writes a snapshot of the filter, which ReadFilter reads. Skeletons that are added
// during the call may be missing. So the info's Watermark must be a time before the call.
func (f *Filter) Write(w io.Writer, s SnapshotInfo) error {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	head, err := json.Marshal(snapshotHead{SnapshotInfo: s, Capacity: f.capacity, Rate: f.rate, Size: f.Len(), Words: len(f.words)})
	if err != nil {
		return fmt.Errorf("nickname: snapshot: %w", err)
	}
	b := fmt.Appendf(nil, snapshotLine, snapshotVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	_, err = out.Write(append(b, head...))
	for i := 0; i < len(f.words) && err == nil; i++ {
		b = binary.LittleEndian.AppendUint64(b[:0], f.words[i].Load())
		_, err = out.Write(b)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		_, err = w.Write(sum.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("nickname: snapshot: %w", err)
	}
	return nil
}

// ReadFilter reads a snapshot to its end. The error wraps ErrCorruptSnapshot,
// ErrSnapshotVersion, or the error of the source.
func ReadFilter(r io.Reader) (*Filter, SnapshotInfo, error) {
	sum := sha256.New()
	in := &checksumReader{Reader: bufio.NewReaderSize(r, 1<<16), hash: sum}
	head, err := in.readHead()
	if err != nil {
		return nil, SnapshotInfo{}, err
	}
	f, err := head.newFilter()
	if err != nil {
		return nil, SnapshotInfo{}, err
	}
	if err := in.readWords(f.words); err != nil {
		return nil, SnapshotInfo{}, err
	}
	if err := in.verify(); err != nil {
		return nil, SnapshotInfo{}, err
	}
	f.recount(head.Size)
	return f, head.SnapshotInfo, nil
}

// newFilter returns the empty filter that the head describes. The checksum has not been
// verified yet, so newFilter refuses sizes that would take too much memory.
func (h *snapshotHead) newFilter() (*Filter, error) {
	if h.Capacity < 1 || h.Capacity > MaxFilter || !(h.Rate > 0.0001 && h.Rate < 1) {
		return nil, corruptError("the size of its filter is out of range")
	}
	if h.Words != wordCount(h.Capacity, h.Rate) {
		return nil, corruptError("the size of its filter does not match its capacity")
	}
	return NewFilter(h.Capacity, h.Rate), nil
}

// recount sets the counters of a filter whose words were read from a snapshot.
func (f *Filter) recount(size int) {
	set := 0
	for i := range f.words {
		set += bits.OnesCount64(f.words[i].Load())
	}
	f.added.Store(int64(size))
	f.bitsSet.Store(int64(set))
}

func corruptError(problem string) error { return fmt.Errorf("%w: %s", ErrCorruptSnapshot, problem) }

// checksumReader reads parts of a snapshot and computes their checksum.
type checksumReader struct {
	*bufio.Reader
	hash hash.Hash
}

func (s *checksumReader) readHead() (h snapshotHead, err error) {
	line := make([]byte, 0, maxLine)
	for len(line) < maxLine && !bytes.HasSuffix(line, []byte{'\n'}) {
		c, err := s.ReadByte()
		if err != nil {
			return h, readError(err)
		}
		line = append(line, c)
	}
	version := 0
	if _, err := fmt.Sscanf(string(line), snapshotLine, &version); err != nil {
		return h, corruptError("it does not begin like a snapshot")
	}
	if version != snapshotVersion {
		return h, fmt.Errorf("%w: version %d; this program reads version %d", ErrSnapshotVersion, version, snapshotVersion)
	}
	s.hash.Write(line)
	length := make([]byte, 4)
	if err := s.readFull(length); err != nil {
		return h, err
	}
	n := binary.LittleEndian.Uint32(length)
	if n > maxHead {
		return h, corruptError("the length of its head is out of range")
	}
	text := make([]byte, n)
	if err := s.readFull(text); err != nil {
		return h, err
	}
	if json.Unmarshal(text, &h) != nil {
		return h, corruptError("its head cannot be read")
	}
	return h, nil
}

func (s *checksumReader) readWords(to []atomic.Uint64) error {
	b := make([]byte, 1<<15)
	for len(to) > 0 {
		n := min(len(to), len(b)/8)
		if err := s.readFull(b[:n*8]); err != nil {
			return err
		}
		for i := range n {
			to[i].Store(binary.LittleEndian.Uint64(b[i*8:]))
		}
		to = to[n:]
	}
	return nil
}

func (s *checksumReader) verify() error {
	want := s.hash.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s, got); err != nil {
		return readError(err)
	}
	if !bytes.Equal(got, want) {
		return corruptError("its checksum does not match")
	}
	switch _, err := s.ReadByte(); {
	case err == nil:
		return corruptError("there are bytes after its end")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("nickname: snapshot: %w", err)
	}
	return nil
}

func (s *checksumReader) readFull(b []byte) error {
	if _, err := io.ReadFull(s, b); err != nil {
		return readError(err)
	}
	s.hash.Write(b)
	return nil
}

// convertReadError converts an error of the source.
func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corruptError("it ends too early")
	}
	return fmt.Errorf("nickname: snapshot: %w", err)
}
