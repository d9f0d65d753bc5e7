package ledger

import (
	"fmt"
	"path/filepath"
	"testing"

	"laststand/internal/testenv"
)

// After very many different statements, the cache has the last one, and not all of them.
func TestTheStatementCacheIsBounded(t *testing.T) {
	t.Parallel()
	conn := testenv.Need(cachingConnector{sqliteURL(filepath.Join(t.TempDir(), "kept.db"), "_txlock", "immediate")}.Connect(t.Context()))(t).(*cachingConn)
	defer conn.Close()
	for i := range maxCachedStatements + 10 {
		text := fmt.Sprintf("SELECT %d", i)
		testenv.NoError(t, testenv.Need(conn.PrepareContext(t.Context(), text))(t).Close())
		if conn.idle[text] == nil || len(conn.idle) > maxCachedStatements {
			t.Fatalf("%q is not among the %d that are kept", text, len(conn.idle))
		}
	}
}
