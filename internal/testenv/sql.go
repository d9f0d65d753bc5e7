package testenv

import "testing"

// SQL is a fresh, empty database of one test.
type SQL struct {
	URL string // as for --database: "" is SQLite in Dir
	Dir string // a data directory of the test, removed afterwards
}

// Database is an empty database of this test at the PostgreSQL server that the
// test binary shares, for several nodes. The test is skipped where PostgreSQL is
// not installed and not required.
func Database(t testing.TB) SQL {
	t.Helper()
	if !has(t, "postgresql", initdb()) {
		t.Skip("postgresql is not installed")
	}
	return SQL{URL: database(t), Dir: t.TempDir()}
}

// EachSQL runs f as the subtests "sqlite" and "postgres". The PostgreSQL server
// is shared by the test binary and loses committed rows in a crash; the
// database is f's own and is dropped afterwards.
func EachSQL(t *testing.T, f func(t *testing.T, db SQL)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, SQL{Dir: t.TempDir()}) })
	if !has(t, "postgresql", initdb()) {
		return
	}
	t.Run("postgres", func(t *testing.T) { f(t, SQL{URL: database(t), Dir: t.TempDir()}) })
}
