package bench_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/redisstore"
	"laststand/internal/settle"
	"laststand/internal/testenv"
)

const (
	settled  = 20_000 // results of the run that measures the rate
	paced    = 10 * time.Second
	duellers = 4000
	waiting  = 2048 // highest number of waiting results; beyond the settler's queue players are notified late, in another way
)

// BenchmarkSettle writes results of duels to the ledger, on disk, and to the boards, in
// -rounds. Each round also runs the floor. The figures exclude the state of finished
// matches in Redis.
func BenchmarkSettle(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		url := testenv.Postgres(b).URL
		c, open := ledger.Config{URL: url}, func() (*sql.DB, error) { return sql.Open("pgx", url) }
		benchSettle(b, c, open, func() writer { return copies(b, url) })
	})
	b.Run("sqlite", func(b *testing.B) {
		dir := b.TempDir()
		c, open := ledger.Config{Dir: dir}, func() (*sql.DB, error) { return openFile(dir) }
		benchSettle(b, c, open, func() writer { return prepared(b, dir) })
	})
}

func benchSettle(b *testing.B, c ledger.Config, open func() (*sql.DB, error), bare func() writer) {
	c.Logger = slog.New(slog.DiscardHandler)
	l, err := ledger.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	enrol(b, open)
	rdb := redis.NewClient(options(b, testenv.Redis(b).URL))
	defer rdb.Close()
	watcher, settler, stop := startSettler(b, l, rdb)
	defer stop()
	spent, write := settlers(b, open, rdb), bare()
	for round := range *rounds {
		b.Run("settle", func(b *testing.B) { settleAll(b, watcher, settler, fmt.Sprint(round), spent) })
		b.Run("floor", func(b *testing.B) {
			costs(b, spent, func() int { settleFloor(b, write, rdb, round); return 2 * settled })
		})
	}
}

// startSettler starts the settler. It runs until the caller calls stop.
func startSettler(b *testing.B, l *ledger.Ledger, rdb *redis.Client) (watcher *watch, settler *settle.Service, stop func()) {
	cfg := config()
	cfg.Windows, cfg.Orders = []lb.Window{lb.All, lb.Day, "7d"}, []lb.Order{lb.ByValue}
	o := applierOptions(nil, redisstore.NewBoards(rdb))
	o.Ledger, o.Games = l.Leaderboards, []lb.Config{cfg}
	watcher = &watch{since: map[string]time.Time{}, room: make(chan struct{}, waiting)}
	settler = settle.New(settle.Config{
		Ledger: l.Results, Pending: nothing{}, Leaderboards: lb.NewApplier(o), Notify: watcher.notifySettled,
		IsUnavailable: ledger.IsUnavailable, IsRefusal: ledger.IsResultRefused, Now: func() int64 { return time.Now().UnixMilli() },
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- settler.Run(ctx) }()
	return watcher, settler, func() { cancel(); <-ended }
}

// settleAll measures the highest rate, and then the latency at half of it.
func settleAll(b *testing.B, watcher *watch, settler *settle.Service, round string, spent spending) {
	began := time.Now()
	costs(b, spent, func() int {
		offer(watcher, settler, "flood"+round+".", settled, 0)
		watcher.all.Wait()
		return 2 * settled
	})
	rate := float64(settled) / time.Since(began).Seconds()
	b.ReportMetric(2*rate, "rows/s")
	watcher.taken = nil
	offer(watcher, settler, "paced"+round+".", int(rate/2*paced.Seconds()), time.Duration(2*float64(time.Second)/rate))
	watcher.all.Wait()
	quantiles(b, watcher.taken)
}

// settlers returns the processor time of this process, Redis, and PostgreSQL with its
// backends.
func settlers(b *testing.B, open func() (*sql.DB, error), rdb *redis.Client) spending {
	info, err := rdb.InfoMap(b.Context(), "server").Result()
	if err != nil {
		b.Fatal(err)
	}
	redisPID, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		b.Fatal(err)
	}
	postgres := postmaster(b, open)
	return func() (map[string]time.Duration, error) {
		all := map[string]time.Duration{}
		var failed [3]error
		all["node"], failed[0] = testenv.CPUTime(os.Getpid())
		all["redis"], failed[1] = testenv.CPUTime(redisPID)
		if postgres > 0 {
			all["postgres"], failed[2] = testenv.CPUTimeWithChildren(postgres)
		}
		return all, errors.Join(failed[:]...)
	}
}

// postmaster returns the process id of a PostgreSQL, or 0 for SQLite. PostgreSQL reports
// its data folder, and a file there contains the id.
func postmaster(b *testing.B, open func() (*sql.DB, error)) int {
	db, err := open()
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var folder string
	if err := db.QueryRowContext(b.Context(), "SHOW data_directory").Scan(&folder); err != nil {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(folder, "postmaster.pid"))
	if err != nil {
		b.Fatal(err)
	}
	id, _, _ := strings.Cut(string(text), "\n")
	process, err := strconv.Atoi(id)
	if err != nil {
		b.Fatal(err)
	}
	return process
}

// offer hands results to the settler at an interval; 0: as fast as it takes them.
func offer(watcher *watch, settler *settle.Service, name string, results int, every time.Duration) {
	began := time.Now()
	for i := range results {
		time.Sleep(time.Until(began.Add(time.Duration(i) * every)))
		r := duel(fmt.Sprint(name, i), i)
		watcher.begin(r.Match)
		for !settler.Offer(r) {
			time.Sleep(time.Millisecond)
		}
	}
}

func duel(id string, i int) match.Result {
	r := match.Result{
		Match: id, Game: game, Mode: match.Duel, Reason: match.ReasonFinished, Questions: 10, CountsForLeaderboards: true,
		StartedAt: time.Now().UnixMilli() - 60_000, OverAt: time.Now().UnixMilli(),
	}
	for seat := range 2 {
		p := player((i*2*13 + seat) % duellers)
		r.Standings = append(r.Standings, match.Standing{
			Rank: seat + 1, Player: p, Nickname: p, Score: int64(900 - 100*seat), Correct: 6 - seat, Answered: 9,
			Asked: 10, TimeMS: 70_000, LimitMS: 150_000,
		})
	}
	return r
}

// enrol writes the players, because only known players have totals.
func enrol(b *testing.B, open func() (*sql.DB, error)) {
	db, err := open()
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for i := range duellers {
		_, err := db.ExecContext(b.Context(), `INSERT INTO players (game, id, nickname, skeleton, named_at, joined_at) VALUES ($1, $2, $2, $2, 1, 1)`, game, player(i))
		if err != nil {
			b.Fatal(err)
		}
	}
}

// watch measures the time from each result until its players are notified.
type watch struct {
	all  sync.WaitGroup
	room chan struct{}

	mu    sync.Mutex
	since map[string]time.Time
	taken []time.Duration
}

func (w *watch) begin(id string) {
	w.all.Add(1)
	w.room <- struct{}{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since[id] = time.Now()
}

func (w *watch) notifySettled(_ context.Context, results []match.Result) {
	for _, r := range results {
		w.mu.Lock()
		began, ours := w.since[r.Match]
		delete(w.since, r.Match)
		if ours {
			w.taken = append(w.taken, time.Since(began))
		}
		w.mu.Unlock()
		if ours {
			<-w.room
			w.all.Done()
		}
	}
}

// nothing is a source without pending results: the benchmark offers all of them.
type nothing struct{}

func (nothing) ReadResults(context.Context, int) ([]match.Result, error) { return nil, nil }
func (nothing) MarkSettled(context.Context, []match.Result) error        { return nil }
func (nothing) CompleteStandings(context.Context, *match.Result) error   { return nil }
