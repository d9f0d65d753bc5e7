package bench_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"laststand/internal/testenv"
)

// postgres is a server with fsync for the time of a benchmark.
type postgres struct {
	url  string
	conn *pgx.Conn
	pid  int
	made int
}

func startPostgres(b *testing.B) *postgres {
	b.Helper()
	p := &postgres{url: testenv.Postgres(b).URL}
	var err error
	if p.conn, err = pgx.Connect(b.Context(), p.url); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.conn.Close(context.Background()) })
	var data string
	if err := p.conn.QueryRow(b.Context(), "SHOW data_directory").Scan(&data); err != nil {
		b.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		b.Fatal(err)
	}
	first, _, _ := strings.Cut(string(file), "\n")
	if p.pid, err = strconv.Atoi(first); err != nil {
		b.Fatal(err)
	}
	return p
}

// fresh makes a database and returns its URL. A checkpoint writes everything that earlier
// runs have left, so that the server need not write it during the next run.
func (p *postgres) fresh(b *testing.B) string {
	b.Helper()
	p.made++
	name := fmt.Sprintf("bench%d", p.made)
	for _, statement := range []string{"CREATE DATABASE " + name, "CHECKPOINT"} {
		if _, err := p.conn.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	u, err := url.Parse(p.url)
	if err != nil {
		b.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// drop removes the newest database, so that the server does no maintenance on it during the
// next run.
func (p *postgres) drop(b *testing.B) {
	b.Helper()
	if _, err := p.conn.Exec(b.Context(), fmt.Sprintf("DROP DATABASE bench%d WITH (FORCE)", p.made)); err != nil {
		b.Fatal(err)
	}
}

// cpu returns the processor time that the server has used; 0 without a server.
func (p *postgres) cpu(b *testing.B) time.Duration {
	b.Helper()
	if p == nil {
		return 0
	}
	taken, err := testenv.CPUTimeWithChildren(p.pid)
	if err != nil {
		b.Fatal(err)
	}
	return taken
}

// cpu returns the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	taken, err := testenv.CPUTime(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	return taken
}
