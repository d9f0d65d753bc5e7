package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"laststand/internal/testenv"
)

func checkSnapshot(t *testing.T, folder snapshotFolder, game, want string) {
	t.Helper()
	if got, err := folder.Load(game); err != nil || string(got) != want {
		t.Errorf("%q: %q, %v; want %q", game, got, err, want)
	}
}

func TestTheLastNameSnapshotReplacesEarlierOnes(t *testing.T) {
	t.Parallel()
	folder := snapshotFolder(filepath.Join(t.TempDir(), "data", "names"))
	games := []string{"demo", "com.example.quiz", "..", ".", "a/b", "a:b", "%2F"}
	for _, game := range games {
		if _, err := folder.Load(game); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q before the first save: %v", game, err)
		}
		for _, text := range []string{"first of " + game, game} {
			testenv.NoError(t, folder.Save(game, []byte(text)))
		}
	}
	for _, game := range games {
		checkSnapshot(t, folder, game, game)
	}
	if entries, err := os.ReadDir(string(folder)); err != nil || len(entries) != len(games) {
		t.Errorf("%d files, %v; want %d", len(entries), err, len(games))
	}
	if info, err := os.Stat(filepath.Join(string(folder), "demo.names")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// If a process is killed while it saves, the former snapshot stays, and the next save
// replaces the unfinished file.
func TestAnUnfinishedNameSnapshotIsIgnored(t *testing.T) {
	t.Parallel()
	folder := snapshotFolder(t.TempDir())
	testenv.NoError(t, folder.Save("demo", []byte("former")))
	testenv.NoError(t, os.WriteFile(folder.filePath("demo")+".unfinished", []byte("half of a snapshot that is long"), 0o600))
	checkSnapshot(t, folder, "demo", "former")
	testenv.NoError(t, folder.Save("demo", []byte("next")))
	checkSnapshot(t, folder, "demo", "next")
	if entries, err := os.ReadDir(string(folder)); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

func TestAFailedSaveKeepsTheFormerNameSnapshot(t *testing.T) {
	t.Parallel()
	folder := snapshotFolder(t.TempDir())
	testenv.NoError(t, folder.Save("demo", []byte("former")))
	testenv.NoError(t, os.Mkdir(folder.filePath("demo")+".unfinished", 0o700))
	if err := folder.Save("demo", []byte("next")); err == nil {
		t.Error("a save that could write no file returned no error")
	}
	checkSnapshot(t, folder, "demo", "former")
	if err := snapshotFolder(filepath.Join(folder.filePath("demo"), "names")).Save("demo", nil); err == nil {
		t.Error("a save below a file returned no error")
	}
}
