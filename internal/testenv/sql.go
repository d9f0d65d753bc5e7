package testenv

import "testing"

// SQL is a fresh, empty database of one test.
type SQL struct {
	URL string // value for --database: "" is SQLite in Dir
	Dir string // data directory of the test, removed afterwards
}

// Database returns an empty database for this test, for several nodes. It is on the
// PostgreSQL server that the test binary shares. The test is skipped if PostgreSQL is not
// installed and not required.
func Database(t testing.TB) SQL {
	t.Helper()
	if !has(t, "postgresql", initdb()) {
		t.Skip("postgresql is not installed")
	}
	return SQL{URL: database(t), Dir: t.TempDir()}
}

// EachSQL runs f as the subtests "sqlite" and "postgres". The test binary shares the
// PostgreSQL server, which loses committed rows in a crash. Only f uses the database, which
// is dropped afterwards.
func EachSQL(t *testing.T, f func(t *testing.T, db SQL)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, SQL{Dir: t.TempDir()}) })
	if !has(t, "postgresql", initdb()) {
		return
	}
	t.Run("postgres", func(t *testing.T) { f(t, SQL{URL: database(t), Dir: t.TempDir()}) })
}
