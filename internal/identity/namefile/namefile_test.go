package namefile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// writerFolderEnv is the name of an environment variable with a folder. If it is set, this test
// binary starts to write a file in the folder, prints a line, and waits until it is killed.
const writerFolderEnv = "LASTSTAND_TEST_WRITE_NAMES"

func TestMain(m *testing.M) {
	if folder := os.Getenv(writerFolderEnv); folder != "" {
		_ = New(folder).Save("demo", func(w io.Writer) error {
			_, err := io.WriteString(w, "half of")
			fmt.Println("written")
			_, _ = io.Copy(io.Discard, os.Stdin)
			return err
		})
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func expectContent(t *testing.T, folder *Folder, game, want string) {
	t.Helper()
	r, err := folder.Open(game)
	if err != nil {
		t.Fatalf("%q: %v", game, err)
	}
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || string(got) != want {
		t.Errorf("%q: %q, %v; want %q", game, got, err, want)
	}
}

func countFiles(t *testing.T, folder string) int {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestTheLastSnapshotReplacesEarlierOnes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "names")
	folder := New(path)
	games := []string{"demo", "com.example.quiz", "..", ".", "a/b", "a:b", "%2F"}
	for _, game := range games {
		if _, err := folder.Open(game); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q before the first save: %v", game, err)
		}
		for _, text := range []string{"first of " + game, game} {
			if err := folder.Save(game, writeText(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, game := range games {
		expectContent(t, New(path), game, game)
	}
	if got := countFiles(t, path); got != len(games) {
		t.Errorf("%d files, want %d", got, len(games))
	}
	if info, err := os.Stat(filepath.Join(path, "demo.names")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAFailedSaveKeepsTheFormerSnapshot(t *testing.T) {
	t.Parallel()
	folder := New(t.TempDir())
	if err := folder.Save("demo", writeText("former")); err != nil {
		t.Fatal(err)
	}
	errWrite := errors.New("torn")
	err := folder.Save("demo", func(w io.Writer) error { return errors.Join(writeText("half of")(w), errWrite) })
	if !errors.Is(err, errWrite) {
		t.Errorf("Save: %v", err)
	}
	expectContent(t, folder, "demo", "former")
	if got := countFiles(t, folder.path); got != 1 {
		t.Errorf("%d files", got)
	}
}

func TestSaveFailsWithoutAFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := New(filepath.Join(path, "names")).Save("demo", writeText("x")); err == nil {
		t.Error("Save succeeded although the parent of its folder is a file")
	}
}

// If a process is killed while it saves, the former file stays. The unfinished file is removed
// by a save an hour later.
func TestAKillDuringASaveKeepsTheFormerSnapshot(t *testing.T) {
	t.Parallel()
	folder := New(t.TempDir())
	if err := folder.Save("demo", writeText("former")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), writerFolderEnv+"="+folder.path)
	if _, err := cmd.StdinPipe(); err != nil { // the writer waits until its input is closed
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the writer prints %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the writer ended without an error")
	}
	if got := countFiles(t, folder.path); got != 2 {
		t.Errorf("%d files, want the former one and an unfinished one", got)
	}
	expectContent(t, folder, "demo", "former")
	if err := folder.Save("other", writeText("x")); err != nil || countFiles(t, folder.path) != 3 {
		t.Errorf("%d files: a file that may still be written was removed, or: %v", countFiles(t, folder.path), err)
	}
	unfinishedFiles, err := filepath.Glob(filepath.Join(folder.path, "*"+unfinishedMark+"*"))
	if err != nil || len(unfinishedFiles) != 1 {
		t.Fatalf("unfinished files %q, %v; want one", unfinishedFiles, err)
	}
	old := time.Now().Add(-abandonedAfter - time.Minute)
	if err := os.Chtimes(unfinishedFiles[0], old, old); err != nil {
		t.Fatal(err)
	}
	if err := folder.Save("other", writeText("x")); err != nil || countFiles(t, folder.path) != 2 {
		t.Errorf("%d files, %v; want the unfinished file removed", countFiles(t, folder.path), err)
	}
}
