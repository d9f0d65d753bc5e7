package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"laststand/internal/identity"
)

// newNameSnapshots returns where the server stores snapshots of the nicknames for its next start.
// It returns nil if the server has no data folder.
func newNameSnapshots(dataFolder string) identity.Snapshots {
	if dataFolder == "" {
		return nil
	}
	return snapshotFolder(filepath.Join(dataFolder, "names"))
}

// snapshotFolder is the path of a folder with one snapshot file per game. The first Save
// creates it. Several processes may share the folder. A reader finds out by its checksum
// that a snapshot is torn.
type snapshotFolder string

// Load implements identity.Snapshots.
func (f snapshotFolder) Load(game string) ([]byte, error) { return os.ReadFile(f.filePath(game)) }

// Save implements identity.Snapshots. After an error the former snapshot stays.
func (f snapshotFolder) Save(game string, snapshot []byte) error {
	path := f.filePath(game)
	err := os.MkdirAll(string(f), 0o700)
	if err == nil {
		err = os.WriteFile(path+".unfinished", snapshot, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".unfinished", path)
	}
	if err != nil {
		return fmt.Errorf("save a snapshot of nicknames: %w", err)
	}
	return nil
}

// filePath returns the path of a game's file. It escapes characters that file names cannot
// have.
func (f snapshotFolder) filePath(game string) string {
	return filepath.Join(string(f), url.PathEscape(game)+".names")
}
