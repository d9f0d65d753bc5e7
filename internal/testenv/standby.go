package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

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
	if err != nil {
		t.Fatalf("start a standby: %v", err)
	}
	server.stopWithTest(t)
	return Standby{server, t, primary}
}

func startStandby(primary *Server) (*Server, error) {
	data, err := newServerDir("postgresql", initdbPath())
	if err != nil {
		return nil, err
	}
	owner, err := unprivilegedUser()
	if err != nil {
		return nil, err
	}
	if owner != nil {
		if err := os.Chown(data, int(owner.Uid), int(owner.Gid)); err != nil {
			return nil, err
		}
	}
	bin, err := filepath.EvalSymlinks(initdbPath())
	if err != nil {
		return nil, err
	}
	err = runAs(owner, data, filepath.Join(filepath.Dir(bin), "pg_basebackup"),
		"--pgdata="+data, "--dbname="+primary.URL, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	if err != nil {
		return nil, err
	}
	return startDataDir(data, owner)
}

// URLs is a URL for --database that names both servers. A client uses the one that accepts writes.
func (s Standby) URLs(database string) string {
	return postgresURL(s.primary.Addr+","+s.Addr, database) + "&target_session_attrs=read-write"
}

// Cut waits until the standby has all that is committed, and then ends the replication.
func (s Standby) Cut() {
	s.t.Helper()
	var position string
	s.read(s.primary, "SELECT pg_current_wal_flush_lsn()::text", &position)
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
	deadline := time.Now().Add(processTimeout)
	for isTrue := false; !isTrue; time.Sleep(20 * time.Millisecond) {
		if s.read(s.Server, query, &isTrue); time.Now().After(deadline) {
			s.t.Fatalf("the standby did not %s within %v", description, processTimeout)
		}
	}
}

// read reads the one value of a query.
func (s Standby) read(server *Server, query string, value any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), processTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL)
	if err == nil {
		defer conn.Close(ctx)
		err = conn.QueryRow(ctx, query).Scan(value)
	}
	if err != nil {
		s.failTestOn(fmt.Errorf("%s: %w", query, err))
	}
}
