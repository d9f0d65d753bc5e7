package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRotate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	sink := opened(t, FileOptions{Path: path, MaxBytes: 6, Keep: 3})
	for _, line := range []string{"a", "b", "c", "d", "e", "longer than all", "f", "g", "h", "i"} {
		send(t, sink, line)
	}
	wantFile(t, path, "i\n")
	wantFile(t, path+".1", "f\ng\nh\n")
	wantFile(t, path+".2", "longer than all\n")
	wantFile(t, path+".3", "d\ne\n")
	send(t, sink, "j", "k", "l")
	wantFile(t, path, "j\nk\nl\n")
	wantFile(t, path+".1", "i\n")
	wantFile(t, path+".3", "longer than all\n")
	if _, err := os.Stat(path + ".4"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("more than 3 are kept: %v", err)
	}
}

// A rotation that fails is tried again. Until it succeeds, no full file is lost.
func TestRotateFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	sink := opened(t, FileOptions{Path: path, MaxBytes: 2, Keep: 2})
	send(t, sink, "a")
	send(t, sink, "b")
	inTheWay := filepath.Join(path+".2", "folder")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		wantOutcome(t, sink.Send(t.Context(), batchOfLines("c")), "io", nil)
	}
	wantFile(t, path, "b\n")
	wantFile(t, path+".1", "a\n")
	if err := os.RemoveAll(path + ".2"); err != nil {
		t.Fatal(err)
	}
	send(t, sink, "c")
	wantFile(t, path, "c\n")
	wantFile(t, path+".1", "b\n")
	wantFile(t, path+".2", "a\n")
}

// After a rotation that a crash interrupted, files move only up to the gap.
func TestRotateFillsTheGap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := errors.Join(os.WriteFile(path, []byte("b\n"), 0o600), os.WriteFile(path+".2", []byte("a\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	send(t, opened(t, FileOptions{Path: path, MaxBytes: 2, Keep: 2}), "c")
	wantFile(t, path, "c\n")
	wantFile(t, path+".1", "b\n")
	wantFile(t, path+".2", "a\n")
}
