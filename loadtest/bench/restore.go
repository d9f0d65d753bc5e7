package bench

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the ledger that is backed up

	"laststand/internal/testenv"
)

// fillSQLite writes a ledger of the game demo with $1 players. Each has played one duel today.
var fillSQLite = []string{
	`INSERT INTO players (game, id, device_hash, nickname, skeleton, named_at, joined_at, score, time_ms, limit_ms, matches, asked, answered, correct)
	 WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i+1 < $1)
	 SELECT 'demo', 'p_' || (1000000000000 + i), hex(randomblob(32)), 'Player ' || i, 'player ' || i, 1 + i, 1, i*7919 % 5000 + 1, i*31 % 150000, 150000, 1, 10, 10, 5 FROM n`,
	`INSERT INTO ledger_heads (game, pos, day, first_day) VALUES ('demo', $1 + 1, date('now'), date('now'))`,
	`INSERT INTO days (game, day, start_pos) SELECT 'demo', date('now'), 1 WHERE $1 > 0`,
	`INSERT INTO entries (game, pos, id, kind, day, committed_at, match_id, holder, score, time_ms, limit_ms, matches, asked, answered, correct, holder_kind,
	   target_day, corrected_pos, newest, newest_of_target_day)
	 SELECT 'demo', 1, 'r', 'day_start', date('now'), 1, '', '', 0, 0, 0, 0, 0, 0, 0, '', '', 0, 0, 0 WHERE $1 > 0
	 UNION ALL SELECT 'demo', 1 + row_number() OVER (), 'r' || id, 'result', date('now'), 1, 'm_' || (substr(id, 3)/2), id, score, time_ms, limit_ms, 1, 10, 10, 5, 'player', '', 0, 0, 0 FROM players`,
	`INSERT INTO matches (game, id, summary, over_at)
	 SELECT 'demo', 'm_' || (substr(id, 3)/2), '{"match":"m","game":"demo","mode":"duel","reason":"finished","questions":10,"counts":true,"firsts":[1,2,3,4,5,6,7,8,9,10]}', 1
	 FROM players WHERE substr(id, 3) % 2 = 0 AND $1 > 0`,
	`INSERT INTO seats (game, player, over_at, match_id, mode, standing_index, rank, team, score, correct, answered, asked, time_ms, rating, rating_delta, player_count)
	 SELECT 'demo', id, 1, 'm_' || (substr(id, 3)/2), 'duel', substr(id, 3) % 2, 1, '', score, 5, 10, 10, time_ms, 1500, 0, 2 FROM players WHERE $1 > 0`,
}

// Restore measures how long a backup and a restore take, and the first start after it.
//
//	go run ./loadtest bench restore -players 1000000    # about 8 minutes
//
// It backs up a SQLite ledger and restores it into PostgreSQL. Then it backs up that ledger and
// restores it into SQLite. Every restore compares all rows. At last a node with an empty Redis
// builds the leaderboards, and compares them with the ledger.
type Restore struct {
	Players int    `default:"1000000" help:"Players, each with one duel of two."`
	Server  string `placeholder:"BINARY" help:"Measure this binary instead of this tree."`

	dir    string
	stores testenv.NodeOptions
}

// Run runs the program. It fails by testenv.Must.
func (b *Restore) Run(ctx context.Context) {
	testenv.FailIf(b.Players < 2, "-players is %d; use 2 or more", b.Players)
	b.Server, b.dir = testenv.Must(testenv.BuildServer(ctx, b.Server)), testenv.Must(os.MkdirTemp("", "laststand-restore-"))
	defer func() { testenv.MustDo(os.RemoveAll(b.dir)) }()
	b.stores = testenv.NodeOptions{Binary: b.Server, Redis: "redis", Database: "postgres", Game: "{duel: {questions: 10}}"}
	started := testenv.Must(testenv.StartNodes(ctx, b.stores))
	b.stores.Redis, b.stores.Database = started.Masters[0].URL, started.Postgres.URL
	b.fill(ctx)
	b.measure(ctx)
}

// fill writes the ledger to back up.
func (b *Restore) fill(ctx context.Context) {
	bank := filepath.Join(b.dir, "bank.json")
	testenv.MustDo(os.WriteFile(bank, textBank(10), 0o600))
	b.command(ctx, "bank", "import", "--bank=load", bank, "--data="+b.path("first"))
	db := testenv.Must(sql.Open("sqlite", filepath.Join(b.path("first"), "laststand.db")+"?_pragma=synchronous(OFF)"))
	defer db.Close()
	for _, statement := range fillSQLite {
		testenv.Must(db.ExecContext(ctx, statement, b.Players))
	}
}

func (b *Restore) measure(ctx context.Context) {
	for _, step := range []struct {
		name string
		args []string
	}{
		{"SQLite", []string{"backup", b.path("sqlite.backup"), "--data=" + b.path("first")}},
		{"PostgreSQL", []string{"restore", b.path("sqlite.backup"), "--database=" + b.stores.Database}},
		{"PostgreSQL", []string{"backup", b.path("postgres.backup"), "--database=" + b.stores.Database}},
		{"SQLite", []string{"restore", b.path("postgres.backup"), "--data=" + b.path("second")}},
	} {
		fmt.Printf("%-10s %s\n", step.name, b.command(ctx, step.args...))
	}
	began, node := time.Now(), testenv.Must(testenv.StartNode(ctx, b.stores))
	testenv.MustDo(testenv.Poll(ctx, 100*time.Millisecond, func() error { return testenv.CheckReady(ctx, node.URL) })) // until it has its leaderboards
	fmt.Printf("PostgreSQL ready with leaderboards after %v\n", time.Since(began).Round(100*time.Millisecond))
	fmt.Println(b.command(ctx, "boards", "verify", "--game=demo", "--ops-listen="+strings.TrimPrefix(node.OpsURL, "http://"),
		"--config="+filepath.Join(node.Dir, "load.yaml"), "--data="+node.Dir, "--database="+b.stores.Database))
}

func (b *Restore) path(name string) string { return filepath.Join(b.dir, name) }

// command runs a command of the server, and returns what it prints.
func (b *Restore) command(ctx context.Context, args ...string) string {
	return testenv.Must(testenv.Output(exec.CommandContext(ctx, b.Server, args...)))
}
