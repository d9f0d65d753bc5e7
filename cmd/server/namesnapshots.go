package main

import (
	"path/filepath"

	"laststand/internal/identity"
	"laststand/internal/identity/namefile"
)

// nameSnapshots returns where the server stores snapshots of the nicknames for its next start.
// It returns nil if the server has no data folder.
func (c *config) nameSnapshots() identity.Snapshots {
	if c.Data == "" {
		return nil
	}
	return namefile.New(filepath.Join(c.Data, "names"))
}
