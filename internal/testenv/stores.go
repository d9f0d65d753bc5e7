package testenv

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/redisx"
)

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
	require(t, "postgresql")
	return SQL{URL: newDatabase(t), Dir: t.TempDir()}
}

// EachSQL runs f as the subtests "sqlite" and "postgres". Each gets an empty database, which
// EachSQL drops afterwards. All tests of the binary share the PostgreSQL server, which can
// lose committed rows in a crash.
func EachSQL(t *testing.T, test func(t *testing.T, db SQL)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQL{Dir: t.TempDir()}) })
	if !isInstalled(t, "postgresql") {
		return
	}
	t.Run("postgres", func(t *testing.T) { test(t, Database(t)) })
}

// EachSQLInParallel is EachSQL for a test that runs beside other tests, as its subtests do.
func EachSQLInParallel(t *testing.T, test func(t *testing.T, db SQL)) {
	t.Helper()
	t.Parallel()
	EachSQL(t, func(t *testing.T, db SQL) {
		t.Parallel()
		test(t, db)
	})
}

// EachRedis runs f as the subtests "embedded", "single" and "cluster". Each gets a client
// of that kind, which EachRedis closes afterwards. The embedded and the single server are
// empty, and only f uses them. All tests of the binary share the cluster, which has two
// masters. So each test must use its own ids and must not flush the cluster. The test fails
// if f leaves a key in the single server that docs/reference/storage.md does not list.
func EachRedis(t *testing.T, test func(t *testing.T, c redis.UniversalClient)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, OpenRedis(t, "").Client) })
	if !isInstalled(t, "redis-server") {
		return
	}
	t.Run("single", func(t *testing.T) {
		client := OpenRedis(t, Redis(t).URL).Client
		test(t, client)
		CheckListedKeys(t, client)
	})
	t.Run("cluster", func(t *testing.T) { test(t, OpenRedis(t, Cluster(t)).Client) })
}

// OpenRedis opens a connection with the settings of the product.
func OpenRedis(t testing.TB, url string) *redisx.Conn {
	t.Helper()
	conn, err := redisx.Open(t.Context(), redisx.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close redis: %v", err)
		}
	})
	return conn
}
