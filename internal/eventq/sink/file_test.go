package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"laststand/internal/eventq"
)

var _ eventq.Sink = (*File)(nil)

func TestSendAppends(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", "behaviours.ndjson")
	sink := opened(t, FileOptions{Path: path})
	send(t, sink, `{"id":"a"}`, `{"id":"b"}`)
	send(t, sink, `{"id":"c"}`)
	wantFile(t, path, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n")
	wantMode(t, path, 0o600)
	wantMode(t, filepath.Dir(path), 0o700|fs.ModeDir)
	if err := sink.Close(); err != nil {
		t.Error(err)
	}

	again := opened(t, FileOptions{Path: path})
	send(t, again, `{"id":"d"}`)
	wantFile(t, path, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n{\"id\":\"d\"}\n")
}

func TestClosedSinkRefusesBatches(t *testing.T) {
	t.Parallel()
	sink := opened(t, FileOptions{Path: filepath.Join(t.TempDir(), "f")})
	for range 2 {
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
	}
	wantOutcome(t, sink.Send(t.Context(), batchOfLines("{}")), "io", os.ErrClosed)
}

func TestEndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantOutcome(t, opened(t, FileOptions{Path: path}).Send(ctx, batchOfLines("{}")), "canceled", context.Canceled)
	wantFile(t, path, "")
}

// The sink ends a line that a crash cut off, so that the next line is whole.
func TestTornLineIsEnded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("{\"id\":\"a\"}\n{\"id\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	send(t, opened(t, FileOptions{Path: path}), `{"id":"c"}`)
	wantFile(t, path, "{\"id\":\"a\"}\n{\"id\":\n{\"id\":\"c\"}\n")
}

func TestFileMovedAwayIsMadeAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d", "f")
	sink := opened(t, FileOptions{Path: path})
	send(t, sink, "1")
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	send(t, sink, "2")
	wantFile(t, path, "2\n")
	wantFile(t, path+".moved", "1\n")
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	send(t, sink, "3")
	wantFile(t, path, "3\n")
	if err := os.Truncate(path, 0); err != nil { // as by logrotate's copytruncate
		t.Fatal(err)
	}
	send(t, sink, "4")
	wantFile(t, path, "4\n")
}

// The sink reports an obstacle at the path. It continues when the obstacle is
// gone.
func TestFileInTheWay(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "d")
	path := filepath.Join(folder, "f")
	sink := opened(t, FileOptions{Path: path})
	if err := errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantOutcome(t, sink.Send(t.Context(), batchOfLines("1")), "io", nil)
	}
	if _, err := OpenFile(FileOptions{Path: path}); err == nil {
		t.Error("a file for a folder was opened")
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	send(t, sink, "2")
	wantFile(t, path, "2\n")
}

func TestFileThatIsMadeLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	sink := opened(t, FileOptions{Path: path, CreateLater: true})
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there before the first batch: %v", err)
	}
	send(t, sink, "1")
	wantFile(t, path, "1\n")
	wantOutcome(t, opened(t, FileOptions{Path: path, CreateLater: true}).Send(t.Context(), batchOfLines("2")), "io", ErrInUse)
}

func TestFileInUseIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	sink := opened(t, FileOptions{Path: path})
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if _, err := OpenFile(FileOptions{Path: name}); !errors.Is(err, ErrInUse) {
			t.Errorf("%s: %v", name, err)
		}
	}
	send(t, sink, "1")
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	send(t, opened(t, FileOptions{Path: link}), "2")
	wantFile(t, path, "1\n2\n")
}

// A disk that hangs ends neither an attempt nor Close late. The disk is a pipe that
// nobody reads.
func TestAHangingDiskHoldsUpNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	sink := opened(t, FileOptions{Path: path})
	large := strings.Repeat("x", 1<<20)
	for range 2 { // the second waits for the first
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		wantOutcome(t, sink.Send(ctx, batchOfLines(large)), "canceled", context.DeadlineExceeded)
	}
	if err := sink.Close(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed: %v", err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := io.CopyN(io.Discard, reader, 1<<20); err != nil {
		t.Error(err)
	}
	if err := sink.Close(); !errors.Is(err, syscall.EINVAL) { // a pipe cannot be synced
		t.Errorf("closed when it hangs no more: %v", err)
	}
}

// Lines of concurrent batches do not mix, also during rotations.
func TestManySendToAFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	sink := opened(t, FileOptions{Path: path, MaxBytes: 2000, Keep: 50})
	var sends sync.WaitGroup
	for i := range 8 {
		sends.Go(func() {
			for j := range 50 {
				line := fmt.Sprintf("%d-%d-", i, j) + strings.Repeat("x", 20)
				send(t, sink, line, line, line)
			}
		})
	}
	sends.Wait()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, name := range files {
		text := read(t, name)
		if len(text) > 2000 || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i := 0; i+2 < len(lines); i += 3 {
			if lines[i] != lines[i+1] || lines[i] != lines[i+2] {
				t.Errorf("%s: mixed %q", name, lines[i:i+3])
			}
			seen[lines[i]]++
		}
	}
	if len(seen) != 400 || len(files) < 10 {
		t.Errorf("%d of 400 batches in %d files", len(seen), len(files))
	}
}

func opened(t *testing.T, o FileOptions) *File {
	t.Helper()
	o.MaxBytes, o.Keep = cmp.Or(o.MaxBytes, 1<<20), cmp.Or(o.Keep, 8)
	sink, err := OpenFile(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sink.Close() })
	return sink
}

func batchOfLines(lines ...string) eventq.Batch {
	var b eventq.Batch
	for _, line := range lines {
		b.Items = append(b.Items, eventq.Item{Body: []byte(line)})
	}
	return b
}

func send(t *testing.T, sink *File, lines ...string) {
	t.Helper()
	if got := sink.Send(t.Context(), batchOfLines(lines...)); got.Delivery != eventq.Delivered || got.Code != "ok" || got.Err != nil {
		t.Errorf("%q: %+v", lines, got)
	}
}

// wantOutcome checks that the outcome is a retry with this code.
func wantOutcome(t *testing.T, got eventq.Outcome, code string, err error) {
	t.Helper()
	if got.Delivery != eventq.TryAgain || got.Items != nil || got.Code != code || got.Err == nil || err != nil && !errors.Is(got.Err, err) {
		t.Errorf("got %+v, want %s, %v", got, code, err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got := read(t, path); got != want {
		t.Errorf("%s holds %q, want %q", filepath.Base(path), got, want)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has the mode %s, want %s", path, info.Mode(), want)
	}
}
