package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// benchClients are the clients of Arena and Connections.
type benchClients struct {
	*players.Group
	end context.CancelFunc
}

// newBenchClients makes clients without a task. They connect to random nodes.
func newBenchClients(ctx context.Context, c cluster) *benchClients {
	ctx, cancel := context.WithCancel(ctx)
	return &benchClients{end: cancel, Group: players.NewGroup(ctx, players.Config{
		Servers: c.URLs, Token: testenv.Token, Checker: new(checker.Checker), Stats: players.NewRecorder(time.Hour),
		Dialer:       func(n int) *net.Dialer { return players.FromAddress(n / players.PerAddress) },
		ReplyTimeout: clientTimeout, ConnectTimeout: clientTimeout, SilenceTimeout: playTimeout, ConnectsPerSecond: joinsPerSecond, Questions: 2,
	})}
}

// clientTimeout limits every wait of a client, and beyond its expected time the wait of await.
const clientTimeout = time.Minute

// await waits until something holds for all clients. It fails after the expected time and
// clientTimeout, or when a client reports a violation.
func (k *benchClients) await(ctx context.Context, what string, expected time.Duration, holds func() bool) {
	ctx, cancel := context.WithTimeoutCause(ctx, expected+clientTimeout, fmt.Errorf("not all clients were %s in time", what))
	defer cancel()
	for !holds() {
		testenv.MustDo(k.violation())
		err := testenv.Pause(ctx, 20*time.Millisecond)
		testenv.FailIf(err != nil, "%w: %v", err, k.Stats.All().Counts)
	}
}

// violation returns the first violation that a client has reported.
func (k *benchClients) violation() error {
	if listed, count := k.Checker.Violations.All(); count > 0 {
		return fmt.Errorf("%d violations: %s", count, listed[0])
	}
	return nil
}

// sumCounts adds up the counts whose names start with a text.
func (k *benchClients) sumCounts(prefix string) (sum int64) {
	for name, n := range k.Stats.All().Counts {
		if strings.HasPrefix(name, prefix) {
			sum += n
		}
	}
	return sum
}

// close closes all connections. It fails if one was lost before, or if a client has reported a
// violation.
func (k *benchClients) close() {
	lost, err := k.sumCounts("session "), k.violation()
	k.end()
	k.Wait()
	k.Disconnect()
	testenv.MustDo(err)
	testenv.FailIf(lost > 0, "%d connections were lost: %v", lost, k.Stats.All().Counts)
}

// connectAs connects a client with a token of a role.
func connectAs(ctx context.Context, d players.Dialer, url, role, id string) (*players.Player, error) {
	token, _ := testenv.Token(role, id) // texts always encode
	return d.Connect(ctx, url, players.Guest{ID: id, Token: token}, nil)
}

// connectPlayer connects the player with a number. The node registers the player at the first
// connection.
func connectPlayer(ctx context.Context, url string, number int) (*players.Player, error) {
	return connectAs(ctx, players.Dialer{}, url, "player", fmt.Sprintf("player_%d", number))
}

// makeArena makes an arena with a new host, who joins it.
func makeArena(ctx context.Context, url string, a protocol.NewArena) (host *players.Player, made protocol.ArenaMade) {
	host = testenv.Must(connectAs(ctx, players.Dialer{}, url, "host", "host_"+rand.Text()))
	made = testenv.Must(players.CreateArena(ctx, url, "demo", host.Token, a))
	testenv.MustDo(host.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code, As: "host"}))
	return host, made
}
