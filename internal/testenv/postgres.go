package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres starts a PostgreSQL for this test alone. It keeps committed data after a Kill.
// Its URL names an empty database. The start takes about two seconds, so use EachSQL if the
// test does not stop the server. Postgres skips the test if PostgreSQL is not installed and
// not required.
func Postgres(t testing.TB) *Server {
	t.Helper()
	require(t, "postgresql")
	server, err := startPostgres("-c", "fsync=on")
	return ownedBy(t, server, err)
}

// newDatabase creates an empty database on the shared server and returns its URL. It drops the
// database after the test.
func newDatabase(t testing.TB) string {
	t.Helper()
	server, err := sharedPostgres()
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	name := fmt.Sprintf("testenv_%d", databaseCount.Add(1))
	if err := executeSQL(t.Context(), server.URL, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := executeSQL(context.Background(), server.URL, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return postgresURL(server.Addr, name)
}

// databaseCount numbers the databases on the shared server.
var databaseCount atomic.Int64

var sharedPostgres = sync.OnceValues(func() (*Server, error) {
	return startPostgres("-c", "fsync=off", "-c", "full_page_writes=off")
})

// initdbPath returns the path of the newest installed initdb, or "". Debian installs one for
// each version outside the PATH.
func initdbPath() string {
	newest, version := findExecutable("initdb"), 0
	paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	for _, path := range paths {
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if err == nil && n > version {
			newest, version = path, n
		}
	}
	return newest
}

// startPostgres makes a data directory and starts a server with it.
func startPostgres(settings ...string) (server *Server, err error) {
	defer Recover(&err)
	d := newDataDir()
	d.run("initdb", "-D", d.path, "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
	return d.start(settings...)
}

// dataDir is the data directory of a server.
type dataDir struct {
	path  string
	bin   string              // folder of the programs
	owner *syscall.Credential // runs the programs; nil: the user of the test
}

// newDataDir makes an empty folder that belongs to the owner. It fails by Must.
func newDataDir() dataDir {
	d := dataDir{path: Must(newServerDir("postgresql", programPath("postgresql"))), owner: Must(unprivilegedUser())}
	d.bin = filepath.Dir(Must(filepath.EvalSymlinks(initdbPath())))
	if d.owner != nil {
		MustDo(os.Chown(d.path, int(d.owner.Uid), int(d.owner.Gid)))
	}
	return d
}

// run runs a program of PostgreSQL in the folder. It fails by Must.
func (d dataDir) run(program string, args ...string) {
	cmd := exec.Command(filepath.Join(d.bin, program), args...)
	cmd.Dir = d.path
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.owner}
	Must(Output(cmd))
}

// start starts a server with the data directory.
func (d dataDir) start(settings ...string) (*Server, error) {
	return startOnFreePort(func(s *Server, port int) error {
		s.URL = postgresURL(s.Addr, "postgres")
		s.process = process{
			path: filepath.Join(d.bin, "postgres"),
			args: append([]string{
				"-D", d.path, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", "", "-c", "shared_buffers=32MB", "-c", "max_connections=200",
			}, settings...),
			user: d.owner, log: d.path + ".log",
			ready: func(ctx context.Context, _ int) error {
				var data string
				err := executeSQL(ctx, s.URL, "SHOW data_directory", &data)
				if err == nil && data != d.path {
					return errPortTaken
				}
				return err
			},
		}
		return nil
	})
}

// unprivilegedUser returns the user to run PostgreSQL as, or nil for the user of the test.
// PostgreSQL refuses to run as root.
func unprivilegedUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if account, err := user.Lookup(name); err == nil {
			c := new(syscall.Credential)
			_, err = fmt.Sscan(account.Uid+" "+account.Gid, &c.Uid, &c.Gid)
			return c, err
		}
	}
	return nil, fmt.Errorf("PostgreSQL refuses to run as root, and the system has no unprivileged user for it; run the tests as another user")
}

func postgresURL(addr, name string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", addr, name)
}

// executeSQL runs a statement over a connection of its own. It reads the one row of a query into
// variables.
func executeSQL(ctx context.Context, url, statement string, row ...any) error {
	conn, err := pgx.Connect(ctx, url)
	if err == nil {
		defer conn.Close(ctx)
		if len(row) > 0 {
			err = conn.QueryRow(ctx, statement).Scan(row...)
		} else {
			_, err = conn.Exec(ctx, statement)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// Standby is a PostgreSQL for one test alone that follows a primary.
type Standby struct {
	*Server
	t       testing.TB
	primary *Server
}

// StartStandby copies a server of Postgres, and starts the copy as its standby. It can be read.
func StartStandby(t testing.TB, primary *Server) Standby {
	t.Helper()
	server, err := startStandby(primary)
	return Standby{ownedBy(t, server, err), t, primary}
}

func startStandby(primary *Server) (server *Server, err error) {
	defer Recover(&err)
	d := newDataDir()
	d.run("pg_basebackup", "--pgdata="+d.path, "--dbname="+primary.URL, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	return d.start()
}

// URLs is a URL for --database that names both servers. A client uses the one that accepts writes.
func (s Standby) URLs(database string) string {
	return postgresURL(s.primary.Addr+","+s.Addr, database) + "&target_session_attrs=read-write"
}

// Cut waits until the standby has all that is committed, and then ends the replication.
func (s Standby) Cut() {
	s.t.Helper()
	var position string
	s.failTestOn(executeSQL(s.t.Context(), s.primary.URL, "SELECT pg_current_wal_flush_lsn()::text", &position))
	s.await("replay "+position, "SELECT pg_last_wal_replay_lsn() >= '"+position+"'")
	for _, statement := range []string{"ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"} {
		s.failTestOn(executeSQL(s.t.Context(), s.URL, statement))
	}
	s.await("end the replication", "SELECT count(*) = 0 FROM pg_stat_wal_receiver")
}

// Promote makes the standby a primary. It waits until it accepts writes.
func (s Standby) Promote() {
	s.t.Helper()
	s.await("be promoted", "SELECT pg_promote()")
}

// await waits until a query of the standby is true.
func (s Standby) await(description, query string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeoutCause(s.t.Context(), processTimeout, fmt.Errorf("the standby did not %s within %v", description, processTimeout))
	defer cancel()
	s.failTestOn(Poll(ctx, 20*time.Millisecond, func() error {
		var isTrue bool
		err := executeSQL(ctx, s.URL, query, &isTrue)
		if err == nil && !isTrue {
			err = errors.New("not yet")
		}
		return err
	}))
}
