package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"laststand/internal/testenv"
)

var nakama = flag.String("nakama", "", "path of a nakama binary, see doc.go; none: it is not measured")

// BenchmarkNakama asks Nakama the same over a board of the same size, on its own
// PostgreSQL.
func BenchmarkNakama(b *testing.B) {
	if *nakama == "" {
		b.Skip("no -nakama")
	}
	base := startNakama(b)
	header := http.Header{"Authorization": {"Bearer " + login(b, base)}}
	board := base + "/v2/leaderboard/bench"
	as := func(url func() string) func(context.Context, *http.Client) error {
		return func(ctx context.Context, client *http.Client) error { return get(ctx, client, url(), header, nil) }
	}
	reads(b, []kind{
		{name: "top100", read: as(func() string { return board + "?limit=100" })},
		{name: "around", read: as(func() string { return board + "/owner/" + owner() + "?limit=10" })},
	}, nil)
}

// owner returns a random owner of a record.
func owner() string { return fmt.Sprintf("00000000-0000-0000-0000-%012x", rand.IntN(*entries)) }

const nakamaRecords = `
INSERT INTO leaderboard_record (leaderboard_id, owner_id, username, score)
SELECT 'bench', lpad(to_hex(i), 32, '0')::uuid, 'player ' || i, i*7919 % 5000 + 1 FROM generate_series(0, $1::bigint - 1) AS i`

// startNakama starts Nakama with a full board and returns its address.
func startNakama(b *testing.B) string {
	db := testenv.Postgres(b).URL
	at, err := url.Parse(db)
	if err != nil {
		b.Fatal(err)
	}
	address := at.User.String() + "@" + at.Host + at.Path
	if out, err := exec.CommandContext(b.Context(), *nakama, "migrate", "up", "--database.address", address).CombinedOutput(); err != nil {
		b.Fatalf("nakama migrate: %v: %s", err, out)
	}
	conn, err := pgx.Connect(b.Context(), db)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(b.Context()))
	_, err = conn.Exec(b.Context(), "INSERT INTO leaderboard (id, authoritative, sort_order, operator) VALUES ('bench', true, 1, 2)")
	if err == nil {
		_, err = conn.Exec(b.Context(), nakamaRecords, *entries)
	}
	if err == nil {
		_, err = conn.Exec(b.Context(), "ANALYZE")
	}
	if err != nil {
		b.Fatal(err)
	}
	port, err := testenv.FreePort()
	if err != nil {
		b.Fatal(err)
	}
	console := strconv.Itoa(port + 10) // Nakama listens on more ports beside both, and derives them from these
	cmd := exec.Command(*nakama, "--database.address", address, "--socket.port", strconv.Itoa(port), "--socket.address", "127.0.0.1",
		"--console.port", console, "--data_dir", b.TempDir(), "--logger.level", "error")
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	for range 600 {
		if get(b.Context(), http.DefaultClient, base+"/healthcheck", nil, nil) == nil {
			return base
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.Fatal("nakama did not start")
	return ""
}

func login(b *testing.B, base string) string {
	body := []byte(`{"id":"device-of-this-benchmark"}`)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, base+"/v2/account/authenticate/device?create=true", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.SetBasicAuth("defaultkey", "")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	var session struct{ Token string }
	if err := json.NewDecoder(answer.Body).Decode(&session); err != nil || session.Token == "" {
		b.Fatalf("nakama's login: %s %v", answer.Status, err)
	}
	return session.Token
}
