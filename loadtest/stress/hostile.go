package stress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// Hostile sends hostile clients to a server: floods, slow readers and writers, half-open
// connections, malformed input, forged tokens, guessed codes, bots that cheat. At the same
// time honest players play, read and arrive.
//
//	go run ./loadtest stress hostile                          # redis-server and SQLite, default limits
//	go run ./loadtest stress hostile -database postgres       # a PostgreSQL
//	go run ./loadtest stress hostile -kinds tokens,bots -each 20s
//
// The program starts the server, a redis-server, and the attackers as separate
// processes. All use loopback and end with the program. The attackers share the
// machine with the server: -rate and -sockets bound them, and they run at idle
// priority. So the figures show the server and not a lack of processors.
//
// The program exits with status 1 in these cases:
//
//   - An honest player was closed, got a wrong reply or no reply, or waited more than
//     twice as long as without attackers.
//   - The server accepted a forged token, an early answer or a second answer, or an
//     attacker found a code.
//   - A reply was 5xx, except a deliberate 503.
//   - The server panicked, grew beyond -most-mb, did not recover, or did not count a
//     refusal.
type Hostile struct {
	ClusterConfig `kong:"embed,set='redis=redis',set='database='"`
	Kinds         []string      `default:"${attacks}" enum:"${attacks}" help:"Kinds of attackers: each alone, then all together."`
	Quiet         time.Duration `default:"15s" name:"idle" help:"Time measured without attackers, before and after."`
	Each          time.Duration `default:"8s" help:"Time of each kind; 0: no kind runs alone."`
	All           time.Duration `default:"20s" help:"Time of all kinds together."`
	Slow          time.Duration `default:"20s" help:"Time of kinds whose effect shows after seconds."`
	SlowTimeout   time.Duration `default:"40s" help:"Extra time for slow clients."`
	PerSecond     float64       `default:"400" name:"rate" help:"Actions a second of the attackers; twice that of all kinds together."`
	Sockets       int           `default:"200" help:"Connections of each kind."`
	FloorMS       float64       `default:"15" name:"floor" help:"A p99 in ms that is accepted in any case, because machines are noisy; 0: delays are not checked."`
	MostMB        float64       `default:"512" name:"most-mb" help:"Memory that the server may have in use."`
	HostileScale  `kong:"-"`
}

// HostileScale is what only tests make smaller.
type HostileScale struct {
	NodeLimits string // section limits of the node's configuration, as YAML in braces
	Limits     Limits // what the server then grants an address
	Addresses  int    // that attackers come from
	InProcess  bool   // attackers run in this process, instead of a process of low priority

	Duellists, Seats, Readers, Watchers int           // honest players; the seats are those of an arena
	RecoveryTimeout                     time.Duration // the time that the server has to recover
	MoreMB                              float64       // memory that it may then use beyond the first phase
}

var fullScale = HostileScale{
	NodeLimits: "{gc_headroom_mib: 64}", Limits: Limits{Guests: 60, Lookups: 600, Codes: 150}, Addresses: 4,
	Duellists: 40, Seats: 20, Readers: 10, Watchers: 10, RecoveryTimeout: 30 * time.Second, MoreMB: 64,
}

// Run runs the program. It fails by testenv.Must.
func (c *Hostile) Run(ctx context.Context) {
	c.HostileScale = fullScale
	testenv.Must(c.Play(ctx)).publish()
}

type attacked struct {
	*Hostile
	*run
	before  testenv.Metrics   // of the server, before the attacks
	revoked map[string]string // tokens, by the reason why they are not valid any more
	phases  []phase           // without attackers, of the attacks, and without attackers again
}

// Play runs all attacks. An error means that the run could not finish. The report lists
// what the run found.
func (c *Hostile) Play(ctx context.Context) (out *Report, err error) {
	defer testenv.Recover(&err)
	c.Node.Settings, c.Node.Files = hostileSettings(c.NodeLimits), hostileFiles()
	a := &attacked{Hostile: c, run: newRun(ctx, c.ClusterConfig, &checker.Checker{LimitMS: hostileLimitMS}, time.Hour)}
	defer a.end()
	a.startNodes(ctx, 1)
	a.startControl()
	recoveredS := a.attackAll(ctx)
	a.finish(ctx, 1)
	a.checkServer(ctx)
	a.stopNodes()
	out = a.newReport(fmt.Sprintf("hostile: %d duels of honest players; attackers run by %s", a.checker.Summary().Matches["duel"], strings.Join(idlePriority, " ")))
	out.addPhases(a.phases)
	out.Line("the server was as small as before within %.1f s", recoveredS)
	for _, p := range a.phases[1:] {
		for _, fault := range p.faults(a.phases[0], c.FloorMS, c.MostMB) {
			out.FailIf(true, "slow: %s: %s", p.name, fault)
		}
	}
	return out, nil
}

// startControl starts the honest players, the control group. They tolerate nothing: a closed
// connection and a missing reply are both violations.
func (a *attacked) startControl() {
	a.group = players.NewGroup(a.playing, players.Config{
		Servers: a.URLs, Token: testenv.Token, Checker: a.checker, Stats: a.stats,
		Dialer: func(n int) *net.Dialer { return players.FromAddress(62500 + n/10) }, // 127.1.0.1 and up: no attacker uses these
		Habits: players.Habits{Think: 200 * time.Millisecond}, Strict: true, Questions: 10,
		ReplyTimeout: 10 * time.Second, ConnectTimeout: 10 * time.Second, SilenceTimeout: 15 * time.Second, LateMatchWait: time.Second,
		ReadInterval: 300 * time.Millisecond, PingInterval: 400 * time.Millisecond, NewGuestPeriod: 1500 * time.Millisecond,
	})
	a.group.SetDuellists(a.Duellists)
	a.group.AddArenas(players.Arenas{Mode: "buzzer", MinPlayers: a.Seats, MaxPlayers: a.Seats, OwnPlayers: true})
	a.group.AddReaders(a.Readers)
	a.group.AddWatchers(a.Watchers)
	a.group.AddNewGuests()
}

// revocation is a ban or a revocation that an operator makes during the run.
type revocation struct {
	path, id  string // of the admin API, below the game; the id is that of the player and of its token
	body      object
	closeCode int // with which the server closes the live connection
}

// closeTimeout bounds the time until the server closes a live connection. A node reads
// new revocations once a second.
const closeTimeout = 10 * time.Second

// revokeTokens connects players. It then bans one, revokes the tokens of the others, and
// checks that the server closes all of them. It returns their tokens by reason. The
// server must refuse them from then on.
func (a *attacked) revokeTokens(ctx context.Context) map[string]string {
	issuedBefore := time.Now().Add(10 * time.Second).UnixMilli()
	tokens := map[string]string{}
	for _, v := range []revocation{
		{"bans", "bad_banned", object{"reason": "bots"}, protocol.CloseBanned},
		{"revocations/token", "bad_one", object{"reason": "lost"}, protocol.CloseUnauthorized},
		{"revocations/subject", "bad_all", object{"reason": "lost", "issued_before": issuedBefore}, protocol.CloseUnauthorized},
	} {
		claims := testenv.Claims("demo", "player", v.id)
		claims["jti"] = v.id
		token := testenv.Must(testenv.Sign(claims))
		a.revoke(ctx, v, token)
		tokens["revoked by "+v.path] = token
	}
	return tokens
}

// revoke makes one revocation while its player is connected.
func (a *attacked) revoke(ctx context.Context, v revocation, token string) {
	n := a.Nodes.All[0]
	live := testenv.Must(players.Connect(ctx, n.URL, players.Guest{ID: v.id, Token: token}, nil))
	defer live.Close()
	put := players.Call{
		Method: http.MethodPut, URL: n.OpsURL + "/admin/v1/games/demo/" + v.path + "/" + v.id, Token: testenv.Must(n.AdminToken(ctx)), Body: v.body,
	}
	testenv.MustDo(put.Do(ctx, new(any)))
	var err error
	for until := time.Now().Add(closeTimeout); err == nil; {
		_, err = live.Read(time.Until(until))
	}
	a.checker.Violations.AddIf(players.CloseCode(err) != v.closeCode, "a live connection, revoked by %s, ended with %v; it had to end with %d within %s",
		v.path, errors.Unwrap(err), v.closeCode, closeTimeout)
}
