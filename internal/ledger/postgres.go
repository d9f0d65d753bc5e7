package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

const (
	maxNodeConns   = 16 // per node, for everything except public reads
	maxPublicConns = 8  // per node, for public reads
	connectTimeout = 5 * time.Second

	// maxIdleInTx is how long a transaction may be idle. A node may stop in the
	// middle of one. Without this limit it would hold locks on games and queues until the
	// operating system closes the connection, after two hours.
	maxIdleInTx = 10 * time.Second
)

// Validate checks a value of Config.URL without connecting. Its error never contains the
// password.
func Validate(databaseURL string) error {
	if databaseURL == "" {
		return nil
	}
	_, err := parsePostgres(databaseURL)
	return err
}

func parsePostgres(databaseURL string) (*pgx.ConnConfig, error) {
	const advice = "want postgres://USER:PASSWORD@HOST:PORT/DATABASE, special characters in the password percent-encoded"
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, errors.New("not a URL: " + advice) // err would quote the password
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, fmt.Errorf("scheme %q is not supported: %s", u.Scheme, advice)
	}
	if u.Host == "" && !u.Query().Has("host") {
		return nil, errors.New("no host: " + advice)
	}
	c, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", hidePassword(errors.Unwrap(err), u), advice)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	return c, nil
}

// hidePassword returns the error's text without the password of the URL.
func hidePassword(err error, u *url.URL) string {
	if err == nil {
		return "the URL is invalid"
	}
	text := err.Error()
	if password, ok := u.User.Password(); ok && password != "" {
		text = strings.ReplaceAll(text, password, "xxxxx")
	}
	return text
}

// preferIndexScans makes the planner of a connection avoid scans of whole tables. Each
// statement has an index, but a plan that was made while the table was small would not
// use it. JIT is off, because compiling a statement takes 20 to 30 ms.
const preferIndexScans = "SET enable_seqscan = off; SET jit = off"

// openPostgres connects to a server.
func openPostgres(ctx context.Context, c Config) (*database, error) {
	config, err := parsePostgres(c.URL)
	if err != nil {
		return nil, fmt.Errorf("ledger: database address: %w", err)
	}
	setupSQL := fmt.Sprintf(preferIndexScans+"; SET idle_in_transaction_session_timeout = %d", cmp.Or(c.maxIdleInTx, maxIdleInTx).Milliseconds())
	pool := postgresPool(config, setupSQL, maxNodeConns)
	if err := checkServer(ctx, pool, config); err != nil {
		pool.Close()
		return nil, fmt.Errorf("ledger: %w", err)
	}
	openPublicPool := func() *sql.DB { return postgresPool(config, setupSQL, maxPublicConns) }
	return &database{writePool: pool, readPool: pool, openPublicPool: openPublicPool, dialect: &dialect{
		name:     goose.DialectPostgres,
		clockSQL: "CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)",
		// The name of a file of the write-ahead log starts with the timeline.
		timelineSQL: "SUBSTR(pg_walfile_name(pg_current_wal_lsn()), 1, 8)",
		// A statement that has waited for a lock must see later commits.
		txOptions:           &sql.TxOptions{Isolation: sql.LevelReadCommitted},
		snapshotOptions:     &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		byteOrder:           ` COLLATE "C"`,
		allowIdle:           "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL enable_seqscan = on",
		forUpdate:           "FOR UPDATE",
		skipLocked:          "FOR UPDATE SKIP LOCKED",
		inSelectPrefix:      "= ANY(ARRAY",
		inIDs:               "= ANY(CAST($2 AS TEXT[]))",
		idList:              func(ids []string) any { return ids },
		bulkRows:            unnestRows,
		bulkArgs:            arrayColumns,
		registrationWorkers: 2,
	}}, nil
}

// postgresPool returns a pool of up to maxConns connections. On each new connection it
// runs setupSQL.
func postgresPool(config *pgx.ConnConfig, setupSQL string, maxConns int) *sql.DB {
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, setupSQL)
		return err
	}))
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	db.SetConnMaxIdleTime(10 * time.Minute)
	return db
}

// checkServer connects, and refuses a server with synchronous_commit off, which could
// lose committed data.
func checkServer(ctx context.Context, db *sql.DB, c *pgx.ConnConfig) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	server := fmt.Sprintf("PostgreSQL at %s, database %q, user %q", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database, c.User)
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("cannot use %s: %w; start it, or correct --database", server, err)
	}
	var commit string
	if err := db.QueryRowContext(ctx, "SHOW synchronous_commit").Scan(&commit); err != nil {
		return fmt.Errorf("cannot use %s: %w", server, err)
	}
	if commit == "off" {
		return fmt.Errorf("%s has synchronous_commit off and could lose committed results in a crash; set it to on for this database: "+
			"ALTER DATABASE %s SET synchronous_commit = on", server, pgx.Identifier{c.Database}.Sanitize())
	}
	return nil
}
