package ledger

import (
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
	postgresConns   = 16 // of one node
	connectPatience = 5 * time.Second
)

// Validate checks a value of Config.URL without connecting. Its error never
// holds the password.
func Validate(databaseURL string) error {
	if databaseURL == "" {
		return nil
	}
	_, err := parsePostgres(databaseURL)
	return err
}

func parsePostgres(databaseURL string) (*pgx.ConnConfig, error) {
	const want = "want postgres://USER:PASSWORD@HOST:PORT/DATABASE, special characters in the password percent-encoded"
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, errors.New("not a URL: " + want) // err would quote the password
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, fmt.Errorf("scheme %q is not supported: %s", u.Scheme, want)
	}
	if u.Host == "" && !u.Query().Has("host") {
		return nil, errors.New("no host: " + want)
	}
	c, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", mask(errors.Unwrap(err), u), want)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectPatience
	}
	return c, nil
}

// mask is the error's text without the password of the URL.
func mask(err error, u *url.URL) string {
	if err == nil {
		return "not understood"
	}
	text := err.Error()
	if password, ok := u.User.Password(); ok && password != "" {
		text = strings.ReplaceAll(text, password, "xxxxx")
	}
	return text
}

func openPostgres(ctx context.Context, c Config) (*Ledger, error) {
	config, err := parsePostgres(c.URL)
	if err != nil {
		return nil, fmt.Errorf("ledger: database address: %w", err)
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresConns)
	db.SetConnMaxIdleTime(10 * time.Minute)
	if err := reach(ctx, db, config); err != nil {
		db.Close()
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return &Ledger{write: db, read: db, dialect: dialect{
		name:  goose.DialectPostgres,
		clock: "CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)",
		// What waits for a lock must then see what was committed meanwhile.
		txOptions:   &sql.TxOptions{Isolation: sql.LevelReadCommitted},
		lookOptions: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		lock:        "FOR UPDATE",
		free:        "FOR UPDATE SKIP LOCKED",
		bulk:        func(tx *sql.Tx) bulk { return atOnce{tx} },
	}}, nil
}

// reach connects and refuses a server that would lose what it has committed.
func reach(ctx context.Context, db *sql.DB, c *pgx.ConnConfig) error {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	where := fmt.Sprintf("PostgreSQL at %s, database %q, user %q", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database, c.User)
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("cannot use %s: %w; start it, or correct --database", where, err)
	}
	var commit string
	if err := db.QueryRowContext(ctx, "SHOW synchronous_commit").Scan(&commit); err != nil {
		return fmt.Errorf("cannot use %s: %w", where, err)
	}
	if commit == "off" {
		return fmt.Errorf("%s has synchronous_commit off and would lose committed results in a crash; set it to on for this database: "+
			"ALTER DATABASE %s SET synchronous_commit = on", where, pgx.Identifier{c.Database}.Sanitize())
	}
	return nil
}
