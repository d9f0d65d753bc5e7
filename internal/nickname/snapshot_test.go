package nickname_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/nickname"
)

var testInfo = nickname.SnapshotInfo{Game: "demo", Epoch: "first", Rules: 7, Watermark: 1795212345678}

// newSnapshot returns a snapshot of a small filter with the given names.
func newSnapshot(t fatalTest, names ...string) []byte {
	t.Helper()
	filter := nickname.NewFilter(20, 0.01)
	for _, name := range names {
		filter.Add(name)
	}
	return encode(t, filter, testInfo)
}

func encode(t fatalTest, filter *nickname.Filter, info nickname.SnapshotInfo) []byte {
	t.Helper()
	snapshot, err := filter.Snapshot(info)
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	return snapshot
}

func TestSnapshotRestoresTheFilter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		filter := nickname.NewFilter(rapid.IntRange(0, 3000).Draw(t, "capacity"), rapid.Float64Range(0.001, 0.9).Draw(t, "rate"))
		names := rapid.SliceOf(rapid.String()).Draw(t, "names")
		for _, name := range names {
			filter.Add(name)
		}
		got, info, err := nickname.ParseSnapshot(encode(t, filter, testInfo))
		if err != nil || info != testInfo {
			t.Fatalf("ReadFilter: %+v, %v", info, err)
		}
		if got.Len() != filter.Len() || got.Cap() != filter.Cap() || got.FalsePositiveRate() != filter.FalsePositiveRate() || got.Bytes() != filter.Bytes() || got.EstimatedFalsePositiveRate() != filter.EstimatedFalsePositiveRate() {
			t.Fatalf("the restored filter differs: %d of %d, %v; was %d of %d, %v", got.Len(), got.Cap(), got.EstimatedFalsePositiveRate(), filter.Len(), filter.Cap(), filter.EstimatedFalsePositiveRate())
		}
		for _, name := range names {
			if !got.MayContain(name) {
				t.Fatalf("%q is lost", name)
			}
		}
		probe := rapid.String().Draw(t, "probe")
		if got.MayContain(probe) != filter.MayContain(probe) {
			t.Fatalf("%q: %v, was %v", probe, got.MayContain(probe), filter.MayContain(probe))
		}
	})
}

// A truncated snapshot is refused, and so is one with more bytes at the end.
func TestTruncatedSnapshotsAreRefused(t *testing.T) {
	t.Parallel()
	whole := newSnapshot(t, "ada", "grace")
	for length := range whole {
		if filter, info, err := nickname.ParseSnapshot(whole[:length]); !errors.Is(err, nickname.ErrCorruptSnapshot) || filter != nil || info != (nickname.SnapshotInfo{}) {
			t.Errorf("%d of %d bytes: %v", length, len(whole), err)
		}
	}
	if _, _, err := nickname.ParseSnapshot(append(whole, 0)); !errors.Is(err, nickname.ErrCorruptSnapshot) {
		t.Errorf("one byte more: %v", err)
	}
}

// A snapshot with any flipped bit is refused.
func TestSnapshotsWithAFlippedBitAreRefused(t *testing.T) {
	t.Parallel()
	whole := newSnapshot(t, "ada", "grace")
	for bit := range len(whole) * 8 {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		filter, _, err := nickname.ParseSnapshot(flipped)
		if filter != nil || !errors.Is(err, nickname.ErrCorruptSnapshot) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
}

// A header with an impossible size is refused, even if the checksum is correct. So it cannot make
// a reader use more memory than a filter needs, or accept a filter of another size.
func TestSnapshotsWithAnImpossibleFilterSizeAreRefused(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		`{"capacity":134217729,"rate":0.01}`, `{"capacity":0,"rate":0.01}`, `{"capacity":-1,"rate":0.01}`, `{"capacity":134217728,"rate":0.01}`,
		`{"capacity":40,"rate":0.01}`, `{"capacity":20,"rate":0}`, `{"capacity":20,"rate":1e-300}`, `{"capacity":20,"rate":1}`, `{}`, `[]`, ``,
	} {
		text := fmt.Appendf(nil, "%s\n", header)
		text = append(text, make([]byte, 32)...)
		sum := sha256.Sum256(text)
		if _, _, err := nickname.ParseSnapshot(append(text, sum[:]...)); !errors.Is(err, nickname.ErrCorruptSnapshot) {
			t.Errorf("%.60s: %v", header, err)
		}
	}
}

func FuzzParseSnapshot(f *testing.F) {
	whole := newSnapshot(f, "ada", "grace")
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(whole[:len(whole)-sha256.Size])
	f.Fuzz(func(t *testing.T, data []byte) {
		checkSnapshot(t, data)
		sum := sha256.Sum256(data) // with a correct checksum, so that the other checks are reached
		checkSnapshot(t, append(data, sum[:]...))
	})
}

// checkSnapshot checks that data is refused with a documented error, or read as a filter that
// survives another write and read.
func checkSnapshot(t *testing.T, data []byte) {
	t.Helper()
	filter, info, err := nickname.ParseSnapshot(data)
	if err != nil {
		if !errors.Is(err, nickname.ErrCorruptSnapshot) {
			t.Fatal(err)
		}
		return
	}
	filter.Add("ada")
	if reread, rereadInfo, err := nickname.ParseSnapshot(encode(t, filter, info)); err != nil || rereadInfo != info || !reread.MayContain("ada") || reread.EstimatedFalsePositiveRate() != filter.EstimatedFalsePositiveRate() {
		t.Fatalf("after another write and read: %+v, %v", rereadInfo, err)
	}
}
