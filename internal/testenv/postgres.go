package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres starts a PostgreSQL for this test alone. It keeps committed data after a Kill.
// Its URL names an empty database. The start takes about two seconds, so use EachSQL if the
// test does not stop the server. Postgres skips the test if PostgreSQL is not installed and
// not required.
func Postgres(t testing.TB) *Server {
	t.Helper()
	if !isInstalled(t, "postgresql", initdbPath()) {
		t.Skip("postgresql is not installed")
	}
	server, err := startPostgres("-c", "fsync=on")
	if err != nil {
		t.Fatal(err)
	}
	server.stopWithTest(t)
	return server
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
	server, err := startPostgres("-c", "fsync=off", "-c", "full_page_writes=off")
	if err == nil {
		server.stopAtExit()
	}
	return server, err
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
func startPostgres(settings ...string) (*Server, error) {
	data, err := newServerDir("postgresql", initdbPath())
	if err != nil {
		return nil, err
	}
	owner, err := unprivilegedUser()
	if err != nil {
		return nil, err
	}
	if err := initDataDir(data, owner); err != nil {
		return nil, err
	}
	return startDataDir(data, owner, settings...)
}

// startDataDir starts a server with a data directory that belongs to the owner.
func startDataDir(data string, owner *syscall.Credential, settings ...string) (*Server, error) {
	bin, err := filepath.EvalSymlinks(initdbPath())
	if err != nil {
		return nil, err
	}
	return startOnFreePort(func(port int) (*Server, error) {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		server := &Server{URL: postgresURL(addr, "postgres"), Addr: addr}
		server.child = child{
			path: filepath.Join(filepath.Dir(bin), "postgres"),
			args: append([]string{
				"-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", "",
				"-c", "shared_buffers=32MB", "-c", "max_connections=200",
			}, settings...),
			user:  owner,
			log:   data + ".log",
			ready: func(ctx context.Context, _ int) error { return postgresReady(ctx, server.URL, data) },
		}
		return server, server.child.start()
	})
}

// unprivilegedUser returns the user to run PostgreSQL as, or nil for the user of the test.
// PostgreSQL refuses to run as root.
func unprivilegedUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(account.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(account.Gid, 10, 32)
		if errUID == nil && errGID == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("PostgreSQL refuses to run as root, and the system has no unprivileged user for it; run the tests as another user")
}

// initDataDir makes a folder the data directory of a server. If an owner is given, it belongs
// to the owner.
func initDataDir(data string, owner *syscall.Credential) error {
	if owner != nil {
		if err := os.Chown(data, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	return runAs(owner, data, initdbPath(), "-D", data, "-U", "postgres", "-A", "trust",
		"--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
}

// runAs runs a program of PostgreSQL in a folder as its owner, or as this user if there is none.
func runAs(owner *syscall.Credential, dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// postgresReady returns nil if the server answers and has this data directory. If another
// server has taken the port, it returns errPortTaken.
func postgresReady(ctx context.Context, url, data string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var actualData string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&actualData); err != nil {
		return err
	}
	if actualData != data {
		return errPortTaken
	}
	return nil
}

func postgresURL(addr, name string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", addr, name)
}

func executeSQL(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
