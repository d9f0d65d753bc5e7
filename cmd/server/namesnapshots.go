package main

import (
	"path/filepath"

	"laststand/internal/identity"
	"laststand/internal/identity/namefile"
)

// nameSnapshots is where the views of nicknames are kept for the next start;
// nil without a data folder.
func (c *config) nameSnapshots() identity.Snapshots {
	if c.Data == "" {
		return nil
	}
	return namefile.New(filepath.Join(c.Data, "names"))
}
