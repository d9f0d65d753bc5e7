package testenv

import "testing"

// SQL is a fresh, empty database of one test.
type SQL struct {
	URL string // value for --database: "" is SQLite in Dir
	Dir string // data directory of the test, removed afterwards
}

// Database returns an empty database that several nodes of this test can use. It is on the
// PostgreSQL server that all tests of the binary share. Database skips the test if
// PostgreSQL is not installed and not required.
func Database(t testing.TB) SQL {
	t.Helper()
	if !isInstalled(t, "postgresql", initdbPath()) {
		t.Skip("postgresql is not installed")
	}
	return SQL{URL: newDatabase(t), Dir: t.TempDir()}
}

// EachSQL runs f as the subtests "sqlite" and "postgres". Each gets an empty database, which
// EachSQL drops afterwards. All tests of the binary share the PostgreSQL server, which can
// lose committed rows in a crash.
func EachSQL(t *testing.T, test func(t *testing.T, db SQL)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQL{Dir: t.TempDir()}) })
	if !isInstalled(t, "postgresql", initdbPath()) {
		return
	}
	t.Run("postgres", func(t *testing.T) { test(t, SQL{URL: newDatabase(t), Dir: t.TempDir()}) })
}
