package main

import (
	"os"
	"path/filepath"
	"testing"

	"laststand/internal/config"
	"laststand/internal/testenv"
)

// A server without settings of behaviours starts even if it cannot write to its data folder.
func TestTheDefaultSinkDoesNotStopAStart(t *testing.T) {
	t.Parallel()
	for text, fails := range map[string]bool{"games: {demo: }": false, "games: {demo: {behaviours: {sink: {type: file}}}}": true} {
		c := testenv.Need(config.Read(configFile(t, text)))(t)
		c.Data = filepath.Join(t.TempDir(), "file")
		testenv.NoError(t, os.WriteFile(c.Data, nil, 0o600))
		var r reporting
		if err := r.openSinks(&c, nil, newClients()); (err != nil) != fails {
			t.Errorf("%s: %v", text, err)
		}
		_ = r.closeSinks()
	}
}
