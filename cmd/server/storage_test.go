package main

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// Every table of the ledger has a row in docs/reference/storage.md, and every row has a table.
func TestEveryLedgerTableIsDocumented(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startNode(t, cli.Flags{Data: &dir}).stop()
	db := testenv.Need(sql.Open("sqlite", filepath.Join(dir, "laststand.db")))(t)
	defer db.Close()
	rows := testenv.Need(db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'`))(t)
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		testenv.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil || len(tables) == 0 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	documented := testenv.StorageRows("Tables of the ledger")
	for _, name := range tables {
		if !slices.Contains(documented, name) {
			t.Errorf("docs/reference/storage.md does not list the table %s: add a row with its owner, limits and end", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(tables, name) {
			t.Errorf("docs/reference/storage.md lists the table %s, which does not exist", name)
		}
	}
}

// The check finds a key that is not listed, even if it begins like a listed key.
func TestUndocumentedRedisKeysAreFound(t *testing.T) {
	t.Parallel()
	documented := []string{
		"m:{12}:m_1", "m:{12}:m_1:lockout:0:blue", "limit:{guests_per_minute_per_address/2001:db8::1}",
		"{b:demo}:g1:player:all:by:value", "busy:{lobby:com.example.quiz}:p_1", "session:{demo/a:b}",
	}
	unknownKeys := []string{"x", "m:{12}:m_1:new", "m:{12}:m_1:lockout:0:blue:new", "{b:demo}:new", "new:{demo/p_1}"}
	if got := testenv.KeysMissingInDocs(slices.Concat(documented, unknownKeys)); !slices.Equal(got, unknownKeys) {
		t.Errorf("missing are %q, want %q", got, unknownKeys)
	}
}

// redisWithDocumentedKeys starts a real Redis in which this test's nodes may leave only keys
// that docs/reference/storage.md lists.
func redisWithDocumentedKeys(t *testing.T) string {
	t.Helper()
	url := testenv.Redis(t).URL
	client := redisClient(t, url)
	t.Cleanup(func() { testenv.CheckListedKeys(t, client) })
	return url
}
