package ws

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// sent is a frame as a client sends it, with a key of zeros unless it is bare.
func sent(first byte, size int, bare bool) []byte {
	keyed, key := byte(keyedBit), make([]byte, keyBytes)
	if bare {
		keyed, key = 0, nil
	}
	out := []byte{first}
	switch {
	case size < 126:
		out = append(out, keyed|byte(size))
	case size < 1<<16:
		out = binary.BigEndian.AppendUint16(append(out, keyed|126), uint16(size))
	default:
		out = binary.BigEndian.AppendUint64(append(out, keyed|127), uint64(size))
	}
	return slices.Concat(out, key, bytes.Repeat([]byte{0x81}, size)) // a payload that looks like heads
}

// Where messages end is known however their bytes come: in one piece, one by one,
// and in any between.
func TestProgress(t *testing.T) {
	t.Parallel()
	var all []byte
	rest := map[int]bool{0: true} // where nothing has begun
	for _, f := range []struct {
		first byte
		size  int
		bare  bool
		ends  bool
	}{
		{0x81, 5, false, true}, {0x81, 0, false, true}, {0x89, 0, false, true}, {0x8a, 125, false, true}, {0x81, 126, false, true},
		{0x01, 3, false, false}, {0x89, 2, false, false}, {0x00, 0, false, false}, {0x8a, 0, false, false}, {0x80, 300, false, true},
		{0x82, 7, true, true}, {0x81, 1 << 16, false, true}, {0x88, 2, false, true},
	} {
		all = append(all, sent(f.first, f.size, f.bare)...)
		rest[len(all)] = f.ends
	}
	for _, piece := range []int{1, 2, 3, 5, 7, 64, 1000, len(all)} {
		var p progress
		for at := 0; at < len(all); {
			to := min(at+piece, len(all))
			ended, want := p.pass(all[at:to]), false
			for i := at + 1; i <= to; i++ {
				want = want || rest[i]
			}
			if ended != want || p.amid() == rest[to] {
				t.Fatalf("pieces of %d, %d to %d: ended %v, amid %v", piece, at, to, ended, p.amid())
			}
			at = to
		}
	}
}
