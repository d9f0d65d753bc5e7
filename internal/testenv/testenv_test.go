package testenv_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv("LASTSTAND_TEST_END") != "" {
		os.Exit(m.Run()) // the process is killed or panics during this call
	}
	testenv.Main(m)
}

func TestEachRedisGivesAWorkingClient(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		ctx := t.Context()
		for i := range 20 {
			key := fmt.Sprintf("session:{test/%d}", i)
			if err := client.Set(ctx, key, i, 0).Err(); err != nil {
				t.Fatal(err)
			}
			if got := client.Get(ctx, key).Val(); got != strconv.Itoa(i) {
				t.Errorf("%s = %q, want %d", key, got, i)
			}
		}
	})
}

// A cluster refuses a script whose keys have no common hash tag.
func TestClusterRefusesKeysOfTwoSlots(t *testing.T) {
	t.Parallel()
	conn := open(t, testenv.Cluster(t))
	err := conn.Client.Eval(t.Context(), "return 1", []string{"{a}", "{b}"}).Err()
	if !redis.HasErrorPrefix(err, "CROSSSLOT") {
		t.Errorf("a script with keys in two slots: %v, want CROSSSLOT", err)
	}
}

func TestReplicaTakesOverInACluster(t *testing.T) {
	t.Parallel()
	nodes := testenv.StartCluster(t, 3, 3)
	cluster := open(t, nodes.URL).Client.(*redis.ClusterClient)
	owners := map[string]bool{}
	for i := range 100 {
		key := strconv.Itoa(i)
		if err := cluster.Set(t.Context(), key, key, 0).Err(); err != nil {
			t.Fatal(err)
		}
		master, err := cluster.MasterForKey(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		owners[master.Options().Addr] = true
	}
	if len(owners) != 3 {
		t.Errorf("the keys are on the masters %v, want three", owners)
	}
	nodes.Masters[0].Kill()
	waitFor(t, "the replica to take over", func() bool {
		return cluster.Set(t.Context(), "06S", "in slot 0", 0).Err() == nil
	})
}

func TestReplicaHasTheDataOfItsMaster(t *testing.T) {
	t.Parallel()
	master := testenv.Redis(t)
	if err := open(t, master.URL).Client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	replica := redis.NewClient(&redis.Options{Addr: testenv.Replica(t, master).Addr})
	defer replica.Close()
	if got := replica.Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("the replica has %q", got)
	}
}

func TestServerCanBePausedKilledAndRestarted(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	conn := open(t, server.URL)
	ctx := t.Context()
	if err := conn.Client.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	shortCtx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := conn.Client.Ping(shortCtx).Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ping of a paused server: %v, want DeadlineExceeded", err)
	}
	server.Resume()
	if got := conn.Client.Get(ctx, "k").Val(); got != "v" {
		t.Errorf("after a pause k = %q, want v", got)
	}
	server.Kill()
	if err := conn.Client.Ping(ctx).Err(); err == nil {
		t.Error("a killed server answers")
	}
	server.Restart()
	if err := conn.Client.Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("after a crash: %v, want an empty server", err)
	}
}

func TestEachSQLGivesAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		if info, err := os.Stat(db.Dir); err != nil || !info.IsDir() {
			t.Errorf("no folder: %v", err)
		}
		if seen[db.URL] {
			t.Errorf("two subtests got the database %q", db.URL)
		}
		seen[db.URL] = true
		if db.URL != "" {
			run(t, db.URL, "CREATE TABLE only_here (n BIGINT)")
		}
	})
}

func TestPostgresKeepsCommittedRowsAfterACrash(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	run(t, server.URL, "CREATE TABLE kept AS SELECT 42 AS n")
	server.Kill()
	server.Restart()
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 42 {
		t.Errorf("after a crash n = %d, %v, want 42", n, err)
	}
}

func TestChromiumRuns(t *testing.T) {
	t.Parallel()
	if path, ok := testenv.Chromium(t); ok {
		if out, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", path, err, out)
		}
	}
}

// This test does nothing unless TestServersAndFilesEndWithTheTestBinary runs it in another
// process. There it starts servers and then panics, or waits until it is killed.
func TestStartServersAndEndViolently(t *testing.T) {
	ending := os.Getenv("LASTSTAND_TEST_END")
	if ending == "" {
		return
	}
	addrs := strings.Split(strings.TrimPrefix(testenv.Cluster(t), "redis://"), ",")
	for _, addr := range append(addrs, testenv.Redis(t).Addr, testenv.Postgres(t).Addr) {
		fmt.Println("server at", addr)
	}
	fmt.Println("servers ready")
	if ending == "panic" {
		panic("the test asked for a panic")
	}
	select {}
}

// When a test binary panics or is killed, its servers end and its files are removed.
func TestServersAndFilesEndWithTheTestBinary(t *testing.T) {
	t.Parallel()
	testenv.Redis(t).Stop()
	testenv.Postgres(t).Stop()
	for _, ending := range []string{"panic", "kill"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			temp, err := os.MkdirTemp("", "testenv-") //nolint:usetesting // the user that PostgreSQL runs as cannot read the folder of t.TempDir
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(temp)
			if err := os.Chmod(temp, 0o755); err != nil {
				t.Fatal(err)
			}
			addrs := endViolently(t, ending, temp)
			if len(addrs) != 4 {
				t.Fatalf("servers at %v, want one Redis, two of a cluster and a PostgreSQL", addrs)
			}
			for _, addr := range addrs {
				waitFor(t, "the end of the server at "+addr, func() bool { return !acceptsConnections(addr) })
			}
			waitFor(t, "the removal of all files in "+temp, func() bool {
				left, err := filepath.Glob(filepath.Join(temp, "laststand-testenv-*"))
				return err == nil && len(left) == 0
			})
		})
	}
}

// endViolently runs TestStartServersAndEndViolently in another process until that panics or is
// killed. It returns the addresses of the servers that the process started.
func endViolently(t *testing.T, ending, temp string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStartServersAndEndViolently$", "-test.v")
	cmd.Env = append(os.Environ(), "LASTSTAND_TEST_END="+ending, "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var addrs []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "server at "); ok {
			addrs = append(addrs, addr)
		}
		if lines.Text() == "servers ready" && ending == "kill" {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended without an error")
	}
	return addrs
}

func acceptsConnections(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// waitFor waits until an event in another process has happened.
func waitFor(t *testing.T, event string, hasHappened func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !hasHappened() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen within 20 s", event)
		}
		time.Sleep(10 * time.Millisecond) // the other process cannot notify this one
	}
}

func open(t *testing.T, url string) *redisx.Conn {
	t.Helper()
	conn, err := redisx.Open(t.Context(), redisx.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func run(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
