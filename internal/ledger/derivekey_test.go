package ledger

import (
	"bytes"
	"testing"

	"laststand/internal/testenv"
)

// All nodes of a ledger derive the same key for a purpose. Keys for other purposes and of
// other ledgers differ.
func TestDerivedKeysDifferByPurposeOnly(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		open := func() *Ledger { return openConfig(t, Config{URL: db.URL, Dir: db.Dir}) }
		one, other := open(), open()
		key := one.DeriveKey("a purpose")
		if len(key) != 32 || !bytes.Equal(key, other.DeriveKey("a purpose")) || bytes.Equal(key, one.DeriveKey("another")) {
			t.Errorf("%x, another node %x, another purpose %x", key, other.DeriveKey("a purpose"), one.DeriveKey("another"))
		}
		if stranger := openConfig(t, Config{Dir: t.TempDir()}); bytes.Equal(key, stranger.DeriveKey("a purpose")) {
			t.Error("another ledger derives the same key")
		}
	})
}
