package bench_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

const (
	growthPlayers = 20_000
	growthRounds  = 4 // of further duels
)

// BenchmarkGrowth measures the bytes that a new player, the first duel of two players on a day,
// and another duel of theirs add to the ledger and to Redis. The boards are all, day and 7d.
// `loadtest capacity` computes with these figures. Answers and webhooks are not included.
func BenchmarkGrowth(b *testing.B) {
	b.Run("postgres", func(b *testing.B) { benchGrowth(b, ledger.Config{URL: testenv.Postgres(b).URL}) })
	b.Run("sqlite", func(b *testing.B) { benchGrowth(b, ledger.Config{Dir: b.TempDir()}) })
}

func benchGrowth(b *testing.B, c ledger.Config) {
	c.Logger = slog.New(slog.DiscardHandler)
	l, err := ledger.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	rdb := redis.NewClient(options(b, testenv.Redis(b).URL))
	defer rdb.Close()
	watcher, settler, stop := startSettler(b, l, rdb)
	defer stop()
	ledgerSize, redisSize := ledgerBytes(b, c), redisMemory(b, rdb)
	report := func(what string, count int) {
		nextLedger, nextRedis := ledgerBytes(b, c), redisMemory(b, rdb)
		b.ReportMetric(float64(nextLedger-ledgerSize)/float64(count), "B-ledger/"+what)
		b.ReportMetric(float64(nextRedis-redisSize)/float64(count), "B-redis/"+what)
		ledgerSize, redisSize = nextLedger, nextRedis
	}
	register(b, l.Players)
	report("player", growthPlayers)
	play := func(round int) {
		for i := range growthPlayers / 2 {
			r := growthDuel(round, i)
			watcher.begin(r.Match)
			for !settler.Offer(r) {
				time.Sleep(time.Millisecond)
			}
		}
		watcher.all.Wait()
	}
	play(0)
	report("first-duel", growthPlayers/2)
	for round := range growthRounds {
		play(1 + round)
	}
	report("next-duel", growthRounds*growthPlayers/2)
	if c.URL != "" {
		b.ReportMetric(float64(keptBytes(b, c.URL))/float64((1+growthRounds)*growthPlayers/2), "B-kept/duel")
	}
}

// keptBytes returns the size of the tables of results that retention never deletes.
func keptBytes(b *testing.B, url string) (size int64) {
	b.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const query = "SELECT pg_total_relation_size('entries') + pg_total_relation_size('day_sums')"
	if err := db.QueryRowContext(b.Context(), query).Scan(&size); err != nil {
		b.Fatal(err)
	}
	return size
}

// growthPlayer returns an id of the length of real ids.
func growthPlayer(i int) string { return fmt.Sprintf("p_01K9%022d", i) }

func register(b *testing.B, players *ledger.Players) {
	var group errgroup.Group
	group.SetLimit(64)
	for i := range growthPlayers {
		group.Go(func() error {
			_, _, err := players.CreateGuest(b.Context(), identity.NewPlayer{
				Game: game, ID: growthPlayer(i), DeviceHash: fmt.Sprintf("%043d", i), Nickname: fmt.Sprintf("Player %05d", i), Skeleton: fmt.Sprintf("player%05d", i), JoinedAt: 1,
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// growthDuel returns the result of the same two players in each round.
func growthDuel(round, i int) match.Result {
	r := duel(fmt.Sprintf("m_01K9%06d%016d", round, i), 0)
	for seat := range r.Standings {
		p := growthPlayer(2*i + seat)
		r.Standings[seat].Player, r.Standings[seat].Nickname = p, fmt.Sprintf("Player %05d", 2*i+seat)
	}
	return r
}

// ledgerBytes returns the size of a database on disk, without its log.
func ledgerBytes(b *testing.B, c ledger.Config) (size int64) {
	b.Helper()
	if c.URL != "" {
		db, err := sql.Open("pgx", c.URL)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(b.Context(), "VACUUM"); err != nil { // as PostgreSQL does by itself
			b.Fatal(err)
		}
		if err := db.QueryRowContext(b.Context(), "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
			b.Fatal(err)
		}
		return size
	}
	db, err := openFile(c.Dir)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(b.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		b.Fatal(err)
	}
	err = filepath.WalkDir(c.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".db") {
			return err
		}
		info, err := entry.Info()
		size += info.Size()
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}
