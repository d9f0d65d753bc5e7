package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// Chaos shows that many nodes lose nothing. Players play duels and arenas over several nodes
// without pauses. At the same time the program kills, stalls and drains nodes.
//
//	go run ./loadtest stress chaos                     # 3 nodes, 300 players, 60 s
//	go run ./loadtest stress chaos -nodes 5 -players 800 -for 5m -kills 30 -seed 7
//	go run ./loadtest stress chaos -for 10m -arenas 80 -kills 50 -stalls 40 -drains 20
//	go run ./loadtest stress chaos -proxy nginx.conf -players 1000 -kills 0 -stalls 0 -drains 10 -for 5m
//	go run ./loadtest stress chaos -kills 0 -stalls 0 -drains 0 -slot-moves 12 -new-shards 2 -failovers 4 -for 5m
//	go run ./loadtest stress chaos -kills 0 -stalls 0 -drains 0 -server FORMER -next NEXT -for 5m
//	go run ./loadtest stress chaos -redis redis://127.0.0.1:7001,127.0.0.1:7002 -database postgres://…
//
// The numbers of faults and arenas are those of the whole run: a longer run needs more
// of them. A seed repeats the faults, but not the timing. On a busy machine questions
// open late; -slack allows them to be that much later than the contract says. If
// anything was wrong, or later than that, the program exits with status 1 and keeps the
// logs of the nodes.
type Chaos struct {
	ClusterConfig `kong:"embed,set='redis=cluster',set='database=postgres'"`
	Nodes         int    `default:"3" help:"Servers."`
	Proxy         string `placeholder:"FILE" help:"Example in deploy/proxies to start before the nodes: nginx.conf, haproxy.cfg, haproxy-tcp.cfg or Caddyfile."`
	Players       int    `default:"300" help:"Players that play at the same time; at least 10, so that every arena finds some."`
	Arenas        int    `default:"8" help:"Arenas in addition to the duels; buzzer, survival and race in turn."`

	Kills  int `default:"5" help:"Nodes killed."`
	Stalls int `default:"4" help:"Nodes stalled for longer than a question."`
	Drains int `default:"2" help:"Nodes drained."`
	RedisChanges
	Next  string        `placeholder:"BINARY" help:"Another version that replaces the nodes one by one, and is replaced again; use no other faults."`
	For   time.Duration `default:"1m" help:"Time of faults and new duels; matches that have started are played on."`
	Seed  uint64        `default:"${seed}" help:"Seed of the faults, and of the choices of the players."`
	Slack time.Duration `default:"3s" help:"Added to the 3 s of the contract, because one machine does all of this."`
}

// Run runs the program. It fails by testenv.Must.
func (c *Chaos) Run(ctx context.Context) {
	testenv.FailIf(c.Nodes < 2 || c.Players < 10, "-nodes is %d and -players is %d; use at least 2 and 10", c.Nodes, c.Players)
	out := testenv.Must(c.Play(ctx))
	late := out.laterThan(maxLateMS + c.Slack.Milliseconds())
	out.FailIf(late > 0, "%d questions opened more than %v late", late, maxLateMS*time.Millisecond+c.Slack)
	out.publish()
}

// The settings of the matches.
const (
	chaosLimitMS   = 2500
	chaosRevealMS  = 400
	chaosQuestions = 4
)

var chaosGame = fmt.Sprintf(
	"{duel: {questions: %d, time_limit_ms: %d, countdown_ms: 600, reveal_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {time_limit_ms: %[2]d, countdown_ms: 600, reveal_ms: %[3]d}}",
	chaosQuestions, chaosLimitMS, chaosRevealMS)

// Play runs players and faults, and ends everything that it started. An error says that the
// run could not be made. The report lists the violations. Delays are no failures.
func (c *Chaos) Play(ctx context.Context) (out *Report, err error) {
	defer testenv.Recover(&err)
	c.Node.Game, c.Node.Drain, c.Node.Proxy = chaosGame, 8*time.Second, c.Proxy
	c.replicateRedis()
	r := newRun(ctx, c.ClusterConfig, &checker.Checker{LimitMS: chaosLimitMS, RevealMS: chaosRevealMS, ArenasCount: true}, time.Second)
	defer r.end()
	r.startNodes(ctx, c.Nodes)
	r.rejoins = true
	r.log("%d nodes serve; seed %d", c.Nodes, c.Seed)
	r.startChaosPlayers(c)
	from := r.stats.Span()
	var events errgroup.Group
	events.Go(func() error { return schedule(ctx, r.faults(c), c.Nodes-1) }) // one node has no fault at any time
	events.Go(func() error { return schedule(ctx, r.spread(c.For, r.redisChanges(c)), 1) })
	events.Go(func() error { return schedule(ctx, r.spread(c.For, r.replacements(c.Next)), 1) })
	events.Go(func() error { return testenv.Pause(ctx, c.For) })
	testenv.MustDo(events.Wait())
	r.group.AwaitArenas()
	to := r.stats.Span()
	r.finish(ctx, 1)
	if c.Next != "" {
		r.checkReadable(ctx)
	}
	r.stopNodes()
	out = r.newReport(fmt.Sprintf("chaos, seed %d: %d kills, %d stalls, %d drains", c.Seed, c.Kills, c.Stalls, c.Drains))
	out.addPlay(r, from, to)
	return out, nil
}

// hosts is how many arenas take place at the same time, at most.
const hosts = 4

// startChaosPlayers starts the players of duels, who also take the seats in arenas.
func (r *run) startChaosPlayers(c *Chaos) {
	r.group = players.NewGroup(r.playing, players.Config{
		Servers: r.URLs, Token: mintForHosts, Checker: r.checker, Stats: r.stats, Seed: c.Seed, Ranked: true, Questions: chaosQuestions + 2,
		ReplyTimeout: 3 * time.Second, ConnectTimeout: 30 * time.Second, SilenceTimeout: 30 * time.Second, LateMatchWait: 1500 * time.Millisecond,
		Habits: players.Habits{
			Think: chaosLimitMS / 4 * time.Millisecond, SkipShare: 1. / 30, LastMomentShare: 1. / 30, RepeatShare: 1. / 10, SecondShare: 1. / 50,
			OutShare: 1. / 20, MoveShare: 1. / 50, MoveFirstShare: 1. / 3,
		},
	})
	r.group.SetDuellists(c.Players)
	dice := rand.New(rand.NewPCG(c.Seed, 100)) //nolint:gosec // a seed must repeat its choices
	for n := range min(hosts, c.Arenas) {
		most := max(2, min(10+dice.IntN(71), c.Players/hosts))
		r.group.AddArenas(players.Arenas{
			Mode: []string{"buzzer", "survival", "race"}[n%3], MinPlayers: min(10, most), MaxPlayers: most, Count: (c.Arenas + hosts - 1 - n) / hosts, ExtraTime: true,
		})
	}
}

// mintForHosts mints the tokens of hosts. Players are guests.
func mintForHosts(role, id string) (string, error) {
	if role == "player" {
		return "", nil
	}
	return testenv.Token(role, id)
}
