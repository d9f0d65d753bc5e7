package nickname_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"laststand/internal/nickname"
)

var stamp = nickname.SnapshotInfo{Game: "demo", Epoch: "first", Rules: 7, Watermark: 1795212345678}

// snapshot returns a snapshot of a small filter with some names.
func snapshot(t fatalTest, names ...string) []byte {
	t.Helper()
	f := nickname.NewFilter(20, 0.01)
	for _, name := range names {
		f.Add(name)
	}
	var b bytes.Buffer
	if err := f.Write(&b, stamp); err != nil {
		t.Fatalf("Write: %v", err)
	}
	return b.Bytes()
}

func TestSnapshotRestoresTheFilter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := nickname.NewFilter(rapid.IntRange(0, 3000).Draw(t, "capacity"), rapid.Float64Range(0.001, 0.9).Draw(t, "rate"))
		names := rapid.SliceOf(rapid.String()).Draw(t, "names")
		for _, name := range names {
			f.Add(name)
		}
		var b bytes.Buffer
		if err := f.Write(&b, stamp); err != nil {
			t.Fatal(err)
		}
		got, s, err := nickname.ReadFilter(iotest.HalfReader(&b))
		if err != nil || s != stamp {
			t.Fatalf("ReadFilter: %+v, %v", s, err)
		}
		if got.Len() != f.Len() || got.Cap() != f.Cap() || got.Rate() != f.Rate() || got.Bytes() != f.Bytes() || got.EstimatedRate() != f.EstimatedRate() {
			t.Fatalf("another filter: %d of %d, %v; was %d of %d, %v", got.Len(), got.Cap(), got.EstimatedRate(), f.Len(), f.Cap(), f.EstimatedRate())
		}
		for _, name := range names {
			if !got.MayHave(name) {
				t.Fatalf("%q is lost", name)
			}
		}
		probe := rapid.String().Draw(t, "probe")
		if got.MayHave(probe) != f.MayHave(probe) {
			t.Fatalf("%q: %v, was %v", probe, got.MayHave(probe), f.MayHave(probe))
		}
	})
}

// A truncated snapshot is refused, and so is one with more bytes at the end.
func TestTruncatedSnapshotsAreRefused(t *testing.T) {
	t.Parallel()
	whole := snapshot(t, "ada", "grace")
	for n := range whole {
		if f, s, err := nickname.ReadFilter(bytes.NewReader(whole[:n])); !errors.Is(err, nickname.ErrCorruptSnapshot) || f != nil || s != (nickname.SnapshotInfo{}) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, _, err := nickname.ReadFilter(bytes.NewReader(append(whole, 0))); !errors.Is(err, nickname.ErrCorruptSnapshot) {
		t.Errorf("one byte more: %v", err)
	}
}

// A snapshot with any flipped bit is refused.
func TestSnapshotsWithAFlippedBitAreRefused(t *testing.T) {
	t.Parallel()
	whole := snapshot(t, "ada", "grace")
	for bit := range len(whole) * 8 {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		f, _, err := nickname.ReadFilter(bytes.NewReader(flipped))
		if f != nil || !errors.Is(err, nickname.ErrCorruptSnapshot) && !errors.Is(err, nickname.ErrSnapshotVersion) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
}

func TestSnapshotsOfAnotherVersionAreRefused(t *testing.T) {
	t.Parallel()
	text := bytes.Replace(snapshot(t, "ada"), []byte("version 1\n"), []byte("version 2\n"), 1)
	if _, _, err := nickname.ReadFilter(bytes.NewReader(text)); !errors.Is(err, nickname.ErrSnapshotVersion) {
		t.Errorf("a newer version: %v", err)
	}
}

// A head with a correct checksum cannot make a reader use more memory than a filter
// needs, or accept a filter of another size.
func TestSnapshotsOfNoSuchFilterAreRefused(t *testing.T) {
	t.Parallel()
	for _, head := range []string{
		`{"capacity":134217729,"rate":0.01,"words":20099350}`, `{"capacity":0,"rate":0.01,"words":1}`, `{"capacity":-1,"rate":0.01,"words":1}`,
		`{"capacity":20,"rate":0.01,"words":5}`, `{"capacity":20,"rate":0,"words":3}`, `{"capacity":20,"rate":1e-300,"words":3}`, `{"capacity":20,"rate":1,"words":3}`,
		`{}`, `[]`, ``, strings.Repeat(" ", 5000) + `{}`,
	} {
		text := fmt.Appendf(nil, "laststand names, version 1\n%c%c%c%c%s", byte(len(head)), len(head)>>8, 0, 0, head)
		text = append(text, make([]byte, 24)...)
		sum := sha256.Sum256(text)
		if _, _, err := nickname.ReadFilter(bytes.NewReader(append(text, sum[:]...))); !errors.Is(err, nickname.ErrCorruptSnapshot) {
			t.Errorf("%.60s: %v", head, err)
		}
	}
}

func TestSnapshotErrorsAreReturned(t *testing.T) {
	t.Parallel()
	torn := errors.New("torn")
	whole := snapshot(t, "ada")
	for n := range len(whole) {
		if _, _, err := nickname.ReadFilter(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(torn))); !errors.Is(err, torn) {
			t.Errorf("reading %d bytes: %v", n, err)
		}
		if err := nickname.NewFilter(20, 0.01).Write(&limitedWriter{left: n, err: torn}, stamp); n < len(snapshot(t)) && !errors.Is(err, torn) {
			t.Errorf("writing %d bytes: %v", n, err)
		}
	}
}

// limitedWriter is a writer with room for a number of bytes.
type limitedWriter struct {
	left int
	err  error
}

func (f *limitedWriter) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, f.err
	}
	return len(b), nil
}

func FuzzReadFilter(f *testing.F) {
	whole := snapshot(f, "ada", "grace")
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.Replace(whole, []byte("version 1"), []byte("version 9"), 1))
	f.Add(whole[:len(whole)-sha256.Size])
	f.Fuzz(func(t *testing.T, b []byte) {
		checkSnapshot(t, b)
		sum := sha256.Sum256(b) // so that only the checks before the checksum fail
		checkSnapshot(t, append(b, sum[:]...))
	})
}

func checkSnapshot(t *testing.T, b []byte) {
	t.Helper()
	filter, s, err := nickname.ReadFilter(bytes.NewReader(b))
	if err != nil {
		if !errors.Is(err, nickname.ErrCorruptSnapshot) && !errors.Is(err, nickname.ErrSnapshotVersion) {
			t.Fatal(err)
		}
		return
	}
	filter.Add("ada")
	var again bytes.Buffer
	if err := filter.Write(&again, s); err != nil {
		t.Fatal(err)
	}
	if twin, at, err := nickname.ReadFilter(&again); err != nil || at != s || !twin.MayHave("ada") || twin.EstimatedRate() != filter.EstimatedRate() {
		t.Fatalf("again: %+v, %v", at, err)
	}
}
