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

// Why a snapshot is not taken.
var (
	ErrBroken  = errors.New("the snapshot is broken")
	ErrVersion = errors.New("the snapshot is of another version of the program")
)

// Stamp says of what a snapshot is.
type Stamp struct {
	Game      string `json:"game"`
	Epoch     string `json:"epoch"`     // of the ledger
	Rules     int    `json:"rules"`     // RulesVersion
	Watermark int64  `json:"watermark"` // by the ledger's clock, epoch ms: how far the filter has followed it
}

// A snapshot is a line of text with the version, the length of a head (4 bytes),
// the head in JSON, the words of the filter, and the SHA-256 of all that. Numbers
// are little-endian.
const (
	snapshotLine = "laststand names, version %d\n"
	snapshotForm = 1

	maxLine = 64
	maxHead = 4 << 10
)

type snapshotHead struct {
	Stamp
	Capacity int     `json:"capacity"`
	Rate     float64 `json:"rate"`
	Size     int     `json:"size"`
	Words    int     `json:"words"`
}

// Write writes the filter so that ReadFilter gives it again. What is added
// meanwhile is in it or not: the stamp has to be older than the call.
func (f *Filter) Write(w io.Writer, s Stamp) error {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	head, err := json.Marshal(snapshotHead{Stamp: s, Capacity: f.capacity, Rate: f.rate, Size: f.Len(), Words: len(f.words)})
	if err != nil {
		return fmt.Errorf("nickname: snapshot: %w", err)
	}
	b := fmt.Appendf(nil, snapshotLine, snapshotForm)
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

// ReadFilter reads a snapshot to its end. The error wraps ErrBroken for whatever
// was not written so, ErrVersion, or is the reader's own.
func ReadFilter(r io.Reader) (*Filter, Stamp, error) {
	sum := sha256.New()
	in := &summed{Reader: bufio.NewReaderSize(r, 1<<16), sum: sum}
	head, err := in.head()
	if err != nil {
		return nil, Stamp{}, err
	}
	f, err := head.filter()
	if err != nil {
		return nil, Stamp{}, err
	}
	if err := in.words(f.words); err != nil {
		return nil, Stamp{}, err
	}
	if err := in.end(); err != nil {
		return nil, Stamp{}, err
	}
	f.count(head.Size)
	return f, head.Stamp, nil
}

// filter is the empty filter that the head tells of, before the sum is known to
// be right: so it bounds what is taken.
func (h *snapshotHead) filter() (*Filter, error) {
	if h.Capacity < 1 || h.Capacity > MaxFilter || !(h.Rate > 0.0001 && h.Rate < 1) {
		return nil, broken("a filter of no such size")
	}
	if h.Words != wordsFor(h.Capacity, h.Rate) {
		return nil, broken("its size does not fit what it was made for")
	}
	return NewFilter(h.Capacity, h.Rate), nil
}

// count puts the counts of a filter right whose words were read.
func (f *Filter) count(size int) {
	set := 0
	for i := range f.words {
		set += bits.OnesCount64(f.words[i].Load())
	}
	f.size.Store(int64(size))
	f.set.Store(int64(set))
}

func broken(how string) error { return fmt.Errorf("%w: %s", ErrBroken, how) }

// summed reads parts of a snapshot and sums them.
type summed struct {
	*bufio.Reader
	sum hash.Hash
}

func (s *summed) head() (h snapshotHead, err error) {
	line := make([]byte, 0, maxLine)
	for len(line) < maxLine && !bytes.HasSuffix(line, []byte{'\n'}) {
		c, err := s.ReadByte()
		if err != nil {
			return h, cut(err)
		}
		line = append(line, c)
	}
	version := 0
	if _, err := fmt.Sscanf(string(line), snapshotLine, &version); err != nil {
		return h, broken("it does not begin as one")
	}
	if version != snapshotForm {
		return h, fmt.Errorf("%w: %d, this one knows %d", ErrVersion, version, snapshotForm)
	}
	s.sum.Write(line)
	length := make([]byte, 4)
	if err := s.fill(length); err != nil {
		return h, err
	}
	n := binary.LittleEndian.Uint32(length)
	if n > maxHead {
		return h, broken("its head has no such length")
	}
	text := make([]byte, n)
	if err := s.fill(text); err != nil {
		return h, err
	}
	if json.Unmarshal(text, &h) != nil {
		return h, broken("its head cannot be read")
	}
	return h, nil
}

func (s *summed) words(to []atomic.Uint64) error {
	b := make([]byte, 1<<15)
	for len(to) > 0 {
		n := min(len(to), len(b)/8)
		if err := s.fill(b[:n*8]); err != nil {
			return err
		}
		for i := range n {
			to[i].Store(binary.LittleEndian.Uint64(b[i*8:]))
		}
		to = to[n:]
	}
	return nil
}

func (s *summed) end() error {
	want := s.sum.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s, got); err != nil {
		return cut(err)
	}
	if !bytes.Equal(got, want) {
		return broken("its sum is another")
	}
	switch _, err := s.ReadByte(); {
	case err == nil:
		return broken("it goes on after its end")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("nickname: snapshot: %w", err)
	}
	return nil
}

func (s *summed) fill(b []byte) error {
	if _, err := io.ReadFull(s, b); err != nil {
		return cut(err)
	}
	s.sum.Write(b)
	return nil
}

// cut is what went wrong with reading on.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return broken("it ends too early")
	}
	return fmt.Errorf("nickname: snapshot: %w", err)
}
