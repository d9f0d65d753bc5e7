package main

import (
	"database/sql"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// rollback is a ledger that goes back to a backup. What happened after it: a duel, a new guest, a ban.
type rollback struct {
	t            *testing.T
	redis        string
	file         string // the backup
	duel         duelPair
	lost, banned *matchClient
}

const lostDevice, bannedDevice = device + "-lost", device + "-banned"

// beginRollback backs up a ledger, calls atBackup, and then adds to the ledger.
func beginRollback(t *testing.T, node *testNode, redis string, atBackup ...func()) *rollback {
	r := &rollback{t: t, redis: redis, file: filepath.Join(t.TempDir(), "backup")}
	r.banned = newDeviceGuest(t, node.url, bannedDevice)
	r.duel = startDuel(t, node.url, node.url, "demo")
	r.play()
	node.run(t, 0, "backup", r.file)
	for _, f := range atBackup {
		f()
	}

	r.duel = pairUp(t, r.duel[0].withoutMatch(), r.duel[1].withoutMatch()).waitForMatch(t)
	r.play()
	node.run(t, 0, "bans", "add", "--game=demo", "--player="+r.banned.ID, "--reason=two accounts")
	readClose(t, r.banned.Player)
	r.lost = newDeviceGuest(t, node.url, lostDevice)
	waitUntil(t, "the nodes have seen the ban", func() bool { return strings.Contains(r.mark(), `"access":1`) })
	return r
}

// mark returns the newest position of the ledger in Redis.
func (r *rollback) mark() string {
	return redisClient(r.t, r.redis).HGet(r.t.Context(), "ledger", "position").Val()
}

func (r *rollback) play() {
	r.duel.each(func(c *matchClient) { c.waitForSettled = true })
	playToEnd(r.t, r.duel[:]...)
}

// check checks that the views follow the ledger, that the duel is in it again, and that the guest
// does not become two players.
func (r *rollback) check(node *testNode) {
	t := r.t
	waitUntil(t, "the lost duel is in the ledger again", func() bool { return getProfile(t, node.url, "demo", r.duel[0].ID).Matches == 2 })
	if status := get(t, node.url+"/v1/games/demo/matches/"+r.duel[0].match, nil); status != http.StatusOK {
		t.Errorf("the lost match: status %d", status)
	}
	waitUntil(t, "the leaderboards are like the ledger", func() bool {
		code, out, _ := command(append([]string{"boards", "verify", "--game=demo"}, node.flags...)...)
		return code == 0 && strings.Contains(out, ": 0 differences")
	})
	waitUntil(t, "the node has no ban that the ledger has lost", func() bool {
		status, _ := requestJSON(t, "POST", node.url+"/v1/games/demo/guests", "", map[string]string{"device": bannedDevice})
		return status == http.StatusOK
	})
	if status, _ := requestJSON(t, "PUT", node.url+"/v1/games/demo/players/me/nickname", r.lost.Token, map[string]string{"nickname": "Grace"}); status != http.StatusUnauthorized {
		t.Errorf("the token of the lost guest: status %d", status)
	}
	if status, _ := requestJSON(t, "PUT", node.url+"/v1/games/demo/players/me/nickname", r.duel[1].Token, map[string]string{"nickname": r.lost.Nickname}); status != http.StatusConflict {
		t.Errorf("another player claims the name of the lost guest: status %d", status)
	}
	if again := newDeviceGuest(t, node.url, lostDevice); again.ID == r.lost.ID {
		t.Errorf("the lost guest got its id again: %s", again.ID)
	}
	if status := get(t, node.url+"/v1/games/demo/players/"+r.lost.ID, nil); status != http.StatusNotFound {
		t.Errorf("the lost guest has a profile: status %d", status)
	}
}

// checkRollbackCounted checks that one of the nodes has counted the rollback.
func checkRollbackCounted(t *testing.T, nodes ...*testNode) {
	t.Helper()
	count := 0
	for _, node := range nodes {
		count += sumMetric(t, node.opsURL, "laststand_ledger_rollbacks_total")
	}
	if count < 1 || count > 2 {
		t.Errorf("the rollback was counted %d times", count)
	}
}

// The database dies, and a standby that was behind is promoted. The nodes find it without a restart:
// their --database names both servers. Every node notices that the ledger went back.
func TestRunningNodesNoticeAPromotedStandby(t *testing.T) {
	t.Parallel()
	primary := testenv.Postgres(t)
	standby := testenv.StartStandby(t, primary)
	db := testenv.SQL{URL: standby.URLs("postgres"), Dir: t.TempDir()}
	cluster := testCluster{config: configFile(t, fastDuelsConfig), redis: redisWithDocumentedKeys(t), db: db}
	first, second := cluster.node(t), cluster.node(t)
	r := beginRollback(t, first, cluster.redis, standby.Cut)

	primary.Kill()
	standby.Promote()
	if code := readClose(t, r.lost.Player); code != protocol.CloseUnauthorized {
		t.Errorf("the lost guest was closed with %d", code)
	}
	r.check(first)
	r.check(second)
	checkRollbackCounted(t, first, second)
}

// A database that is behind becomes that of running nodes, with the same epoch, as after a recovery; or
// a backup is restored. Every node notices it, closes the sessions of lost guests, and the lost
// results are settled again.
func TestRunningNodesNoticeADatabaseThatIsBehind(t *testing.T) {
	t.Parallel()
	for name, isRestore := range map[string]bool{"copy": false, "restore": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := newTestCluster(t, redisWithDocumentedKeys(t), fastDuelsConfig)
			first, second := cluster.node(t), cluster.node(t)
			r := beginRollback(t, first, cluster.redis)
			elsewhere := connect(t, second.url, player.Guest{ID: r.duel[0].ID, Token: r.duel[0].Token})
			replaceDatabase(t, cluster.db.URL, r.file, isRestore)
			if code := readClose(t, r.lost.Player); code != protocol.CloseUnauthorized {
				t.Errorf("the lost guest was closed with %d", code)
			}
			r.check(first)
			r.check(second)
			checkRollbackCounted(t, first, second)
			if _, err := elsewhere.Send(protocol.TypePing, nil); err != nil {
				t.Errorf("a player whom the ledger still has was closed: %v", err)
			}
		})
	}
}

// replaceDatabase replaces a database of running nodes by a backup. Without isRestore it has the
// epoch of the former one, like a recovery to a point in time.
func replaceDatabase(t *testing.T, databaseURL, file string, isRestore bool) {
	t.Helper()
	u := testenv.Need(url.Parse(databaseURL))(t)
	name := strings.TrimPrefix(u.Path, "/")
	execute := func(database, statement string, args ...any) {
		t.Helper()
		target := *u
		target.Path = "/" + database
		db, err := sql.Open("pgx", target.String())
		if err == nil {
			_, err = db.ExecContext(t.Context(), statement, args...)
			_ = db.Close()
		}
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	restored := name + "_restored"
	execute("postgres", "CREATE DATABASE "+restored)
	target := *u
	target.Path = "/" + restored
	if code, _, stderr := command("restore", file, "--database="+target.String()); code != 0 {
		t.Fatal(stderr)
	}
	if !isRestore {
		execute(restored, "UPDATE ledger_info SET epoch = $1", readEpoch(t, databaseURL))
	}
	execute("postgres", "DROP DATABASE "+name+" WITH (FORCE)")
	execute("postgres", "ALTER DATABASE "+restored+" RENAME TO "+name)
}

func readEpoch(t *testing.T, databaseURL string) (epoch string) {
	t.Helper()
	db, err := sql.Open("pgx", databaseURL)
	if err == nil {
		err = db.QueryRowContext(t.Context(), "SELECT epoch FROM ledger_info").Scan(&epoch)
		_ = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

// A server starts with an older SQLite file beside the Redis that it had before: a restored backup, or
// a copy of the file.
func TestAStartWithAnOlderDatabaseIsNoticed(t *testing.T) {
	t.Parallel()
	for name, isRestore := range map[string]bool{"copy": false, "restore": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, cache, config := testenv.SQL{Dir: t.TempDir()}, redisWithDocumentedKeys(t), configFile(t, fastDuelsConfig)
			node := startNode(t, cli.Flags{Config: config, Data: &db.Dir, Redis: &cache})
			r := beginRollback(t, node, cache)
			node.stop()
			for _, suffix := range []string{"", "-wal", "-shm"} {
				testenv.NoError(t, os.RemoveAll(filepath.Join(db.Dir, "laststand.db"+suffix)))
			}
			if isRestore {
				node.run(t, 0, "restore", r.file)
			} else if err := os.Rename(r.file, filepath.Join(db.Dir, "laststand.db")); err != nil {
				t.Fatal(err)
			}
			node = startNode(t, cli.Flags{Config: config, Data: &db.Dir, Redis: &cache})
			r.check(node)
			checkRollbackCounted(t, node)
		})
	}
}
