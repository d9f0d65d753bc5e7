package stress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

type swarm struct {
	*Swarm
	*run
	starting sync.WaitGroup // of duel players

	from, to int    // spans of the recorder with the load
	spike    *spike // nil: none
}

// Play runs the load, and ends everything that it started. An error says that the run
// could not start. The report lists violations, slow answers and why a run was aborted.
func (c *Swarm) Play(ctx context.Context) (out *Report, err error) {
	defer testenv.Recover(&err)
	isAttached := len(c.Attach) > 0
	rules := &checker.Checker{ArenasCount: !isAttached, Strangers: isAttached, KeepAnswers: true}
	if !isAttached {
		rules.LimitMS, rules.RevealMS = swarmLimit.Milliseconds(), c.Reveal.Milliseconds()
	}
	c.Node.Settings = c.nodeSettings()
	s := &swarm{Swarm: c, run: newRun(ctx, c.ClusterConfig, rules, max(time.Second, c.For/300))}
	defer s.end()
	if isAttached {
		s.run.Nodes = testenv.AttachNodes(c.Attach)
	} else {
		s.startNodes(ctx, c.Nodes)
	}
	s.log("the nodes are %s", strings.Join(s.URLs(), ","))
	s.startClients(isAttached)
	return s.play(ctx), nil
}

func (s *swarm) startClients(isAttached bool) {
	c := players.Config{
		Servers: s.URLs, Dialer: s.dialer, Checker: s.checker, Stats: s.stats, Seed: uint64(time.Now().UnixNano()),
		Habits:       players.Habits{Think: s.Think, SecondShare: 1. / 50, OutShare: 1. / 20},
		ReplyTimeout: 20 * time.Second, ConnectTimeout: 2 * time.Minute, SilenceTimeout: 3 * time.Minute,
		LateMatchWait: cmp.Or(s.LateMatchWait, 15*time.Second), ConnectsPerSecond: s.Ramp,
		Questions: s.Questions, Ranked: !isAttached, ReadInterval: time.Second,
	}
	if !isAttached {
		c.Token = testenv.Token
	}
	s.group = players.NewGroup(s.playing, c)
	for mode, n := range map[string]int{"buzzer": s.Buzzer, "survival": s.Survival, "race": s.Race} {
		for ; n > 1; n -= s.Seats { // one player alone has no arena
			s.group.AddArenas(players.Arenas{Mode: mode, MinPlayers: min(n, s.Seats), MaxPlayers: min(n, s.Seats), OwnPlayers: true, ExtraTime: true})
		}
	}
	s.starting.Go(func() { s.group.SetDuellists(s.Duellists) })
	s.group.AddReaders(s.Readers)
	if s.Behaviours > 0 && !isAttached {
		s.group.AddBehaviours(s.Behaviours)
	}
	s.group.AddWatchers(s.Watchers)
	s.group.AddIdle(s.Idle)
}

// profileShare is the share of matches and players that are read by themselves at the end.
const profileShare = 20

// play lets the clients play, and stops them. If the run is aborted, it still reports everything
// up to then.
func (s *swarm) play(ctx context.Context) *Report {
	err := s.playLoad(ctx)
	if err != nil {
		s.log("aborted: %v", err)
		s.to = s.stats.Span()
		s.stopPlaying()
		s.starting.Wait()
	}
	s.end()
	out := s.newReport(fmt.Sprintf("swarm of %d connections, %d of them play", s.connections(), s.players()))
	out.FailIf(err != nil, "aborted: %v", err)
	out.addPlay(s.run, s.from, s.to)
	if s.spike != nil {
		out.addSpike(s.spike)
	}
	return out
}

// playLoad connects the clients, lets them play for a time, and checks what is stored.
func (s *swarm) playLoad(ctx context.Context) (err error) {
	defer testenv.Recover(&err)
	s.connect(ctx)
	s.from = s.stats.Span() + 1
	if s.Spike {
		s.spike = s.runSpike(ctx)
	} else {
		s.log("the load starts, for %v", s.For)
		testenv.MustDo(testenv.Pause(ctx, s.For))
	}
	s.to = s.stats.Span()
	s.starting.Wait()
	s.finish(ctx, profileShare)
	return nil
}

// connectStallTimeout bounds the time without a new connection while some are missing.
const connectStallTimeout = time.Minute

func (s *swarm) connect(ctx context.Context) {
	want := int64(s.connections())
	for highest, since := int64(-1), time.Now(); ; testenv.MustDo(testenv.Pause(ctx, 100*time.Millisecond)) {
		n := s.group.Connected.Load()
		if n >= want {
			s.log("%d are connected", n)
			return
		}
		if n > highest {
			highest, since = n, time.Now()
		}
		if time.Since(since) > connectStallTimeout {
			s.checker.Violations.Add("only %d of %d clients could connect", n, want)
			return
		}
	}
}

// Swarm plays on many nodes with many players, in any mix.
//
//	go run ./loadtest stress swarm                                 # 1,950 connections, 400 of them play
//	go run ./loadtest stress swarm -idle 0 -duels 5000 -buzzer 5000 -survival 5000 -think 11s -reveal 39s -questions 3 -ramp 300 -for 1m
//	go run ./loadtest stress swarm -spike                          # three times the sustainable load
//	go run ./loadtest stress swarm -attach http://127.0.0.1:8080   # a running server, with guests
//
// The open files of this process limit its connections. For more of them, start further
// swarms with -attach and the addresses that the first one prints.
//
// The program exits with status 1 in these cases:
//
//   - The checker found a violation of the contract; see package checker.
//   - In a spike: no client was turned away, a refusal had no clear code, the p99 of
//     admitted players was over twice the earlier p99 and over 25 ms, or that lasted for
//     over 10 s.
type Swarm struct {
	ClusterConfig `kong:"embed,set='redis=redis',set='database='"`
	Nodes         int      `default:"1" help:"Servers."`
	Attach        []string `placeholder:"URL" help:"URLs of running nodes instead of starting some; arenas do not count there, lift their limits for guests."`

	Idle      int `default:"1500" help:"Sessions that do nothing."`
	Watchers  int `default:"50" help:"Sessions that watch a leaderboard."`
	Duellists int `default:"200" name:"duels" help:"Players of duels, an even number."`
	Buzzer    int `default:"100" help:"Players of buzzer arenas."`
	Survival  int `default:"100" help:"Players of survival arenas."`
	Race      int `default:"100" help:"Players of races."`
	Readers   int `default:"20" help:"Readers of leaderboards over HTTP, each one a second."`

	Seats      int           `default:"50" help:"Players of an arena; beyond 50 each gets a result of its own."`
	Questions  int           `default:"10" help:"Questions of a match."`
	Behaviours float64       `default:"500" help:"Behaviours posted per second to nodes that the run starts; others accept no token of this program."`
	Think      time.Duration `default:"2s" help:"Time in which players answer."`
	Reveal     time.Duration `default:"1500ms" help:"Pause after a question."`
	Ramp       float64       `default:"500" help:"Connections started per second."`
	For        time.Duration `default:"30s" help:"Duration of the load, once all are connected; of a spike, the spike alone."`

	Spike         bool          `help:"Offer three times the sustainable load, of short duels. Only what is asked for takes part."`
	LateMatchWait time.Duration `kong:"-"` // for a match that was made before its player left the queue; 0: as long as an overloaded node may need
}

// memoryLimit is the memory of this process from which on it collects garbage. As many
// connections as it may have files take half a GiB.
const memoryLimit = 2 << 30

// spikeDefaults are flags with other defaults for a spike. It plays short matches, and nothing else
// that was not asked for.
var spikeDefaults = map[string]any{"buzzer": 0, "survival": 0, "race": 0, "idle": 0, "questions": 3, "think": time.Second, "reveal": time.Second}

// Validate sets the defaults of a spike, and returns all errors of the configuration.
func (c *Swarm) Validate(k *kong.Context) error {
	for _, f := range k.Flags() {
		value, isOther := spikeDefaults[f.Name]
		isGiven := slices.ContainsFunc(k.Path, func(p *kong.Path) bool { return p.Flag == f })
		if c.Spike && isOther && !isGiven {
			f.Target.Set(reflect.ValueOf(value))
		}
	}
	return c.Check()
}

// Run runs the program. It fails by testenv.Must.
func (c *Swarm) Run(ctx context.Context) {
	debug.SetGCPercent(-1) // while this process collects garbage, answers seem late
	debug.SetMemoryLimit(memoryLimit)
	testenv.Must(c.Play(ctx)).publish()
}

// Check returns all errors of a configuration.
func (c *Swarm) Check() error {
	var errs []error
	add := func(isWrong bool, format string, args ...any) {
		if isWrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(min(c.Idle, c.Watchers, c.Duellists, c.Buzzer, c.Survival, c.Race, c.Readers) < 0, "a number of clients is below 0; use 0 or more")
	add(c.Duellists%2 != 0, "-duels is %d; use an even number", c.Duellists)
	add(c.Seats < 2 || c.Seats > 10000, "-seats is %d; use 2 to 10000", c.Seats)
	add(c.Questions < 1 || c.Questions > 50, "-questions is %d; use 1 to 50", c.Questions)
	add(c.For <= 0 || c.For > 50*time.Minute, "-for is %v; use up to 50m, because tokens are valid for an hour", c.For)
	add(!(c.Ramp >= 0.01 && c.Ramp <= maxPerSecond), "-ramp is %v; use 0.01 to %.0f a second", c.Ramp, maxPerSecond)
	add(!(c.Behaviours >= 0 && c.Behaviours <= maxPerSecond), "-behaviours is %v; use 0 to %.0f a second", c.Behaviours, maxPerSecond)
	add(len(c.Attach) == 0 && (c.Nodes < 1 || c.Nodes > 100), "-nodes is %d; use 1 to 100", c.Nodes)
	add(c.connections() > openFiles(), "%d connections need more than the %d open files of a process; raise ulimit -n, or start further swarms with -attach", c.connections(), openFiles())
	add(c.Spike && c.Buzzer+c.Survival+c.Race > 0, "a spike has only duels; omit -buzzer, -survival and -race")
	for _, url := range c.Attach {
		add(!strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://"), "%q is no URL; use one such as http://127.0.0.1:8080", url)
	}
	return errors.Join(errs...)
}

// maxPerSecond bounds every rate.
const maxPerSecond = 1e6

// openFiles returns how many connections this process may have. It needs some files for
// other purposes.
func openFiles() int {
	var files syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) // no files if it fails
	return max(int(min(files.Cur, 1<<20))-2500, 1000)
}

// connections returns the number of all connections. Each arena has a host.
func (c *Swarm) connections() int {
	hosts := 0
	for _, players := range []int{c.Buzzer, c.Survival, c.Race} {
		hosts += (players + c.Seats - 1) / max(c.Seats, 1)
	}
	return c.players() + hosts + c.Watchers + c.Idle
}

func (c *Swarm) players() int { return c.Duellists + c.Buzzer + c.Survival + c.Race }

const swarmLimit = 15 * time.Second // for an answer

func (c *Swarm) nodeSettings() string {
	times := fmt.Sprintf("time_limit_ms: %d, countdown_ms: 1000, reveal_ms: %d", swarmLimit.Milliseconds(), c.Reveal.Milliseconds())
	limits := ""
	if !c.Spike { // only a spike must show that nodes shed load
		limits = "max_scheduler_lag_ms: 0, "
	}
	if c.Nodes > 1 { // by default each would use 192 MiB
		limits += "gc_headroom_mib: 64, "
	}
	return fmt.Sprintf(`games:
  demo:
    %s
    duel: {questions: %d, %s, bot_after_ms: 0, pair_limit_per_day: 0}
    arena: {%s}
    behaviours: {max_len: 1000000, rate: {per_second: 1000, burst: 1000}, report: [], sink: {type: file, max_file_mib: 16, max_files: 1}}
limits: {%scode_attempts_per_hour_per_address: 0, reads_per_second_per_address: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0, guests_per_minute_per_address: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`, testenv.KeysYAML, c.Questions, times, times, limits)
}
