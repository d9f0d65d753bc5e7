package sink

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pathOfChild names the file of a process whose files may have 40 bytes.
const pathOfChild = "LASTSTAND_TEST_FULL_FILE"

// A batch that does not fit whole leaves nothing behind, and arrives once there is
// room. The limit on file size, which causes the short write, applies to a
// process. So the test runs its own process.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(pathOfChild); path != "" {
		fillUp(t, path)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	path := filepath.Join(t.TempDir(), "f")
	child.Env = append(os.Environ(), pathOfChild+"="+path)
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestFullDisk") {
		t.Fatalf("%v: %s", err, out)
	}
	line := strings.Repeat("x", 14)
	wantFile(t, path, line+"\n"+line+"\n"+"small\n")
}

func fillUp(t *testing.T, path string) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &usual); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 40, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &usual) })
	line := strings.Repeat("x", 14)
	sink := opened(t, FileOptions{Path: path})
	send(t, sink, line, line)
	for range 2 {
		wantOutcome(t, sink.Send(t.Context(), batchOfLines(line, line)), "full", syscall.EFBIG)
		wantFile(t, path, line+"\n"+line+"\n")
	}
	send(t, sink, "small")
}
