package stress

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// HostileConfig configures a run with attackers. All fields but Log are needed.
type HostileConfig struct {
	ClusterConfig
	NodeLimits string   // section limits of the node's configuration, as YAML in braces
	Kinds      []string // of attackers: each alone, then all together
	InProcess  bool     // attackers run in this process, instead of a process of low priority

	Duellists, Seats, Readers, Watchers int // honest players; the seats are those of an arena

	Quiet, Each, All time.Duration // of the phases without attackers, of each kind (0: no kind runs alone), of all kinds together
	Slow             time.Duration // of kinds whose effect shows after seconds
	SlowTimeout      time.Duration // how much longer slow clients may continue
	RecoveryTimeout  time.Duration // the time that the server has to recover
	MoreMB           float64       // memory that it may then use beyond the first phase
	PerSecond        float64       // actions a second of the attackers
	Sockets          int           // connections of a kind
	Addresses        int           // that attackers come from
	Limits           Limits        // what the server grants an address

	FloorMS, MostMB float64 // see phase.faults; FloorMS 0: not checked
}

// HostileCommand registers the flags of the program and returns the function that runs it.
// The program sends hostile clients to a server: floods, slow readers and writers, half-open
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
func HostileCommand(flags *flag.FlagSet) func(context.Context) {
	c := HostileConfig{
		Limits: defaultLimits, NodeLimits: "{gc_headroom_mib: 64}",
		Duellists: 40, Seats: 20, Readers: 10, Watchers: 10, RecoveryTimeout: 30 * time.Second, MoreMB: 64, Addresses: 4,
	}
	c.addFlags(flags, "redis", "")
	kinds := flags.String("kinds", strings.Join(AttackKinds(), ","), "kinds of attackers, separated by commas")
	flags.DurationVar(&c.Quiet, "idle", 15*time.Second, "time measured without attackers, before and after")
	flags.DurationVar(&c.Each, "each", 8*time.Second, "time of each kind")
	flags.DurationVar(&c.All, "all", 20*time.Second, "time of all kinds together")
	flags.DurationVar(&c.Slow, "slow", 20*time.Second, "time of kinds whose effect shows after seconds")
	flags.DurationVar(&c.SlowTimeout, "slow-timeout", 40*time.Second, "extra time for slow clients")
	flags.Float64Var(&c.PerSecond, "rate", 400, "actions a second of the attackers; twice that of all kinds together")
	flags.IntVar(&c.Sockets, "sockets", 200, "connections of each kind")
	flags.Float64Var(&c.FloorMS, "floor", 15, "p99 in ms that is accepted in any case, because machines are noisy")
	flags.Float64Var(&c.MostMB, "most-mb", 512, "memory that the server may have in use")
	return func(ctx context.Context) {
		c.Kinds = strings.Split(*kinds, ",")
		if i := slices.IndexFunc(c.Kinds, func(kind string) bool { return !slices.Contains(AttackKinds(), kind) }); i >= 0 {
			testenv.Fail("there is no kind %q of attackers; use some of %v", c.Kinds[i], AttackKinds())
		}
		testenv.Must(Hostile(ctx, c)).publish()
	}
}

type attacked struct {
	HostileConfig
	*run
	before  testenv.Metrics   // of the server, before the attacks
	revoked map[string]string // tokens, by the reason why they are not valid any more
	phases  []phase           // without attackers, of the attacks, and without attackers again
}

// server returns the attacked server.
func (a *attacked) server() *testenv.Node { return a.cluster.All[0] }

// Hostile runs all attacks. An error means that the run could not finish. The report lists
// what the run found.
func Hostile(ctx context.Context, c HostileConfig) (out *Report, err error) {
	defer testenv.Recover(&err)
	c.Nodes, c.Settings, c.Files = 1, hostileSettings(c.NodeLimits), hostileFiles()
	r := newRun(ctx, c.ClusterConfig, &checker.Checker{LimitMS: hostileLimitMS}, time.Hour)
	defer r.end()
	a := &attacked{HostileConfig: c, run: r}
	a.startControl()
	recoveredS := a.attackAll(ctx)
	r.finish(ctx, 1)
	a.checkServer(ctx)
	r.cluster.stop()
	out = r.newReport(fmt.Sprintf("hostile: %d duels of honest players; attackers run by %s", r.checker.Summary().Matches["duel"], strings.Join(idlePriority, " ")))
	out.addPhases(a.phases)
	out.Line("the server was as small as before within %.1f s", recoveredS)
	for _, p := range a.phases[1:] {
		for _, fault := range p.faults(a.phases[0], c.FloorMS, c.MostMB) {
			out.FailIf(true, "slow: %s: %s", p.name, fault)
		}
	}
	return out.finish(&r.checker.Violations), nil
}

// startControl starts the honest players, the control group. They tolerate nothing: a closed
// connection and a missing reply are both violations.
func (a *attacked) startControl() {
	a.group = players.NewGroup(a.playing, players.Config{
		Servers: a.cluster.urls, Token: testenv.Token, Checker: a.checker, Stats: a.stats,
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
	path, id  string // of the admin API, below the game
	body      object
	tokenID   string // claim jti; "": none
	closeCode int    // with which the server closes the live connection
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
		{"bans", "bad_banned", object{"reason": "bots"}, "", protocol.CloseBanned},
		{"revocations/token", "bad_one", object{"reason": "lost"}, "bad_one", protocol.CloseUnauthorized},
		{"revocations/subject", "bad_all", object{"reason": "lost", "issued_before": issuedBefore}, "", protocol.CloseUnauthorized},
	} {
		claims := testenv.Claims("demo", "player", v.id)
		if v.tokenID != "" {
			claims["jti"] = v.tokenID
		}
		token := testenv.Must(testenv.Sign(claims))
		a.revoke(ctx, v, token)
		tokens["revoked by "+v.path] = token
	}
	return tokens
}

// revoke makes one revocation while its player is connected.
func (a *attacked) revoke(ctx context.Context, v revocation, token string) {
	n := a.server()
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
	if players.CloseCode(err) != v.closeCode {
		a.checker.Violations.Add("a live connection, revoked by %s, ended with %v; it had to end with %d within %s",
			v.path, errors.Unwrap(err), v.closeCode, closeTimeout)
	}
}
