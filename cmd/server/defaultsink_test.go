package main

import (
	"os"
	"path/filepath"
	"testing"

	"laststand/internal/config"
)

// A server without settings of behaviours starts even if it cannot write to its data folder.
func TestTheDefaultSinkDoesNotStopAStart(t *testing.T) {
	t.Parallel()
	for text, fails := range map[string]bool{"games: {demo: }": false, "games: {demo: {behaviours: {sink: {type: file}}}}": true} {
		c, err := config.Read(configFile(t, text))
		if err != nil {
			t.Fatal(err)
		}
		c.Data = filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(c.Data, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var r reporting
		if err := r.openSinks(&c, nil, newClients()); (err != nil) != fails {
			t.Errorf("%s: %v", text, err)
		}
		_ = r.closeSinks()
	}
}
