package bench_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"laststand/internal/ledger"
	"laststand/internal/testenv"
)

// readFor is the duration of each measurement.
const readFor = 5 * time.Second

// BenchmarkRead asks a server over HTTP, with -clients at once. Its
// boards are on a real Redis and built from a ledger with that many players.
func BenchmarkRead(b *testing.B) {
	s := startRead(b)
	base := s.URL + "/v1/games/demo/leaderboards/all"
	awaitBoard(b, base)
	reads(b, []kind{
		{name: "rank", read: reading(func() string { return base + "/" + anyone() })},
		{name: "top100", read: reading(func() string { return base + "?limit=100" })},
		{name: "around", read: reading(func() string { return base + "?limit=10&around=" + anyone() })},
	}, servers(s))
}

// readServer is the server that is read, and its Redis.
type readServer struct {
	*testenv.Node
	redis *testenv.Server
}

// startRead starts a server with a ledger of players who have played once. It ends with the
// benchmark.
func startRead(b *testing.B) readServer {
	binary, err := testenv.BuildServer(b.Context(), *server)
	if err != nil {
		b.Fatal(err)
	}
	redis := testenv.Redis(b)
	n, err := testenv.StartNode(b.Context(), testenv.NodeOptions{
		Binary: binary, Redis: redis.URL, WriteLedger: func(data string) error { return fill(b.Context(), data, *entries) },
		Game: "{leaderboards: {windows: [all, day], orders: [value]}}",
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if _, err := n.Stop(); err != nil {
			b.Error(err)
		}
	})
	return readServer{n, redis}
}

// reading returns a function that reads an answer. url chooses the address of each read.
func reading(url func() string) func(context.Context, *http.Client) error {
	return func(ctx context.Context, client *http.Client) error { return get(ctx, client, url(), nil, nil) }
}

// anyone returns a random player from fill.
func anyone() string { return filled(rand.IntN(*entries)) }

// filled returns the id of a player, as the SQL of fill makes it.
func filled(i int) string { return fmt.Sprintf("p_%d", 1_000_000_000_000+i) }

// fill writes a ledger of the game demo. Each player has played once today.
func fill(ctx context.Context, data string, players int) error {
	l, err := ledger.Open(ctx, ledger.Config{Dir: data})
	if err != nil {
		return err
	}
	if _, err := l.Days.StartNewDays(ctx, "demo"); err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	db, err := openFile(data)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{
		`INSERT INTO players (game, id, nickname, skeleton, named_at, joined_at)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i+1 < $1)
SELECT 'demo', 'p_' || (1000000000000 + i), 'Player ' || i, 'player ' || i, 1 + i, 1 FROM n`,
		`INSERT INTO entries (game, pos, id, kind, day, committed_at, match_id, holder, score, time_ms, limit_ms, matches, asked, answered, correct, holder_kind,
  target_day, corrected_pos, newest, newest_of_target_day)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i+1 < $1)
SELECT 'demo', h.pos + i + 1, 'r' || i, 'result', h.day, 1, 'm' || (i/2), 'p_' || (1000000000000 + i),
  i*7919 % 5000 + 1, i*31 % 150000, 150000, 1, 10, 10, 5, 'player', '', 0, 0, 0 FROM n, ledger_heads h WHERE h.game = 'demo'`,
		`UPDATE ledger_heads SET pos = pos + $1 WHERE game = 'demo'`,
	} {
		if _, err := db.ExecContext(ctx, statement, players); err != nil {
			return err
		}
	}
	return nil
}

// openFile opens the embedded ledger of a folder that its owner also uses.
func openFile(data string) (*sql.DB, error) {
	files, err := filepath.Glob(filepath.Join(data, "*.db"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("the ledger's file in %s: %v %w", data, files, err)
	}
	return sql.Open("sqlite", files[0]+"?_pragma=busy_timeout(5000)&_pragma=synchronous(OFF)")
}

// awaitBoard waits until all players are on the board.
func awaitBoard(b *testing.B, url string) {
	began := time.Now()
	for {
		var page struct{ Total int }
		if err := get(b.Context(), http.DefaultClient, url+"?limit=1", nil, &page); err == nil && page.Total == *entries {
			b.Logf("the board of %d stood after %s", *entries, time.Since(began).Round(time.Second))
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// hammer reads with so many clients for a while, and returns the number of reads.
func hammer(b *testing.B, clients int, k kind) int {
	var all []time.Duration
	var mu sync.Mutex
	var group sync.WaitGroup
	ctx, cancel := context.WithTimeout(b.Context(), readFor)
	defer cancel()
	for range clients {
		group.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			var taken []time.Duration
			for ctx.Err() == nil {
				began := time.Now()
				err := k.read(ctx, client)
				if ctx.Err() != nil {
					break // interrupted by the end
				}
				if err != nil {
					b.Error(err)
					break
				}
				taken = append(taken, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, taken...)
		})
	}
	group.Wait()
	b.ReportMetric(float64(len(all))/readFor.Seconds(), "reads/s")
	quantiles(b, all)
	return len(all)
}

// get reads a whole answer, into v if v is not nil.
func get(ctx context.Context, client *http.Client, url string, header http.Header, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, answer.Status, raw)
	}
	if err != nil || v == nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
