package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// playOptions say what players play.
type playOptions struct {
	mode      string // survival or buzzer arenas, or duel
	players   int
	arenas    int // that the players are seated in; not for duels
	questions int // of an arena
	answer    string
	maxDelay  time.Duration // of an answer, at the start
	isTraced  bool
}

// playTimeout limits how long players play.
const playTimeout = time.Hour

// answeringPlayers are players who answer every question of their arenas or duels.
type answeringPlayers struct {
	playOptions
	cluster  cluster
	all      []*players.AnsweringPlayer
	hosts    []*players.Player
	arenaIDs []string
	maxDelay atomic.Int64 // see players.AnsweringPlayer
	empty    usage        // before the players came

	playing *errgroup.Group
	faulty  context.Context // ends with the first fault, which is its cause
	over    context.Context // ends with the first arena, too
	end     context.CancelFunc

	latencies *players.Recorder // of answers
	firstAt   func() time.Time  // when the first reply came; the first reply calls it
	replies   atomic.Int64      // to answers so far
	firsts    atomic.Int64      // first right answers so far
	trace     *answerTrace      // nil: none
}

// answered is the kind of the latencies of answers.
const answered = "answered"

func newAnsweringPlayers(ctx context.Context, c cluster, o playOptions) *answeringPlayers {
	p := &answeringPlayers{
		playOptions: o, cluster: c, latencies: players.NewRecorder(playTimeout), firstAt: sync.OnceValue(time.Now), all: make([]*players.AnsweringPlayer, o.players),
	}
	p.playing, p.faulty = errgroup.WithContext(ctx)
	p.over, p.end = context.WithCancel(p.faulty)
	p.maxDelay.Store(int64(o.maxDelay))
	if o.isTraced {
		p.trace = new(answerTrace)
	}
	return p
}

// playPart returns a part that seats players, calls measure, and ends the players.
func playPart(name string, on testenv.NodeOptions, o playOptions, measure func(context.Context, *answeringPlayers)) part {
	return part{name, on, func(ctx context.Context, c cluster) {
		p := newAnsweringPlayers(ctx, c, o)
		defer p.close()
		p.empty = c.readUsage(ctx)
		p.seat(ctx)
		measure(ctx, p)
	}}
}

// seat connects the players, spread over all nodes, and seats them in arenas.
func (p *answeringPlayers) seat(ctx context.Context) {
	group, connecting := errgroup.WithContext(ctx)
	group.SetLimit(8)
	urls := p.cluster.URLs()
	for i := range p.all {
		group.Go(func() error {
			player, err := connectPlayer(connecting, urls[i%len(urls)], i)
			p.all[i] = &players.AnsweringPlayer{
				Player: player, AnswerJSON: p.answer, MaxDelay: &p.maxDelay, OnReply: p.record, IsBuzzer: p.mode == "buzzer", PlaysDuels: p.mode == "duel",
			}
			if p.trace != nil {
				p.all[i].OnSeen = func() { p.trace.add(pushArrived, time.Now()) }
			}
			return err
		})
	}
	testenv.MustDo(group.Wait())
	for i := range p.arenas {
		p.openArena(ctx, urls[i%len(urls)], p.all[i*p.players/p.arenas:(i+1)*p.players/p.arenas])
	}
}

// openArena makes an arena and seats players in it.
func (p *answeringPlayers) openArena(ctx context.Context, url string, seated []*players.AnsweringPlayer) {
	host, made := makeArena(ctx, url, protocol.NewArena{
		Mode: p.mode, Name: "bench", Pace: "auto", Questions: protocol.ArenaQuestions{Count: p.questions, Bank: "load"},
	})
	p.hosts, p.arenaIDs = append(p.hosts, host), append(p.arenaIDs, made.ArenaID)
	for _, one := range seated {
		testenv.MustDo(one.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code}))
	}
}

func (p *answeringPlayers) start() {
	for _, one := range p.all {
		p.playing.Go(func() error {
			err := one.Play(playTimeout)
			if err == nil {
				p.end()
			}
			return err
		})
	}
	for i, host := range p.hosts {
		p.playing.Go(func() error { return host.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: p.arenaIDs[i]}) })
	}
}

func (p *answeringPlayers) record(latency time.Duration, isFirst bool) {
	p.replies.Add(1)
	if p.trace != nil {
		receivedAt := time.Now()
		p.trace.add(answerSent, receivedAt.Add(-latency))
		p.trace.add(replyArrived, receivedAt)
	}
	if isFirst {
		p.firsts.Add(1)
	}
	p.latencies.Add(answered, latency)
	p.firstAt()
}

// playFor lets the players play for a time, but not after the end of the first arena. It fails
// with the first fault of a player.
func (p *answeringPlayers) playFor(duration time.Duration) {
	_ = testenv.Pause(p.over, duration) // the end of an arena is no fault
	testenv.MustDo(context.Cause(p.faulty))
}

func (p *answeringPlayers) close() {
	for _, one := range p.all {
		if one != nil && one.Player != nil {
			_ = one.Close()
		}
	}
	for _, host := range p.hosts {
		_ = host.Close()
	}
	_ = p.playing.Wait() // closing the connections has caused faults
}

// measureAll starts the players and measures them until all arenas are over. The time starts
// at the first answer.
func (p *answeringPlayers) measureAll(ctx context.Context) measurement {
	m := measurement{from: p.cluster.readUsage(ctx)}
	defer context.AfterFunc(ctx, p.close)()
	p.start()
	testenv.MustDo(p.playing.Wait())
	m.from.at = p.firstAt()
	return p.finish(ctx, m)
}

// measurePlay measures playing players for a time after the warm-up, but not after the end
// of the first arena.
func (p *answeringPlayers) measurePlay(ctx context.Context, duration time.Duration) measurement {
	return p.measureDuring(ctx, warmUpTime, func() { p.playFor(duration) })
}

// measureDuring measures playing players after the warm-up, until a function returns. The memory
// of Redis counts since the players came.
func (p *answeringPlayers) measureDuring(ctx context.Context, warmUp time.Duration, run func()) measurement {
	p.playFor(warmUp)
	_ = p.latencies.Take()
	m := measurement{from: p.cluster.readUsage(ctx)}
	run()
	m = p.finish(ctx, m)
	m.memory = m.to.memory - p.empty.memory
	return m
}

// warmUpTime is how long players play before a measurement.
const warmUpTime = 2 * time.Second

// finish ends a measurement of players.
func (p *answeringPlayers) finish(ctx context.Context, m measurement) measurement {
	m.to, m.answers, m.replies = p.cluster.readUsage(ctx), p.latencies.Take().Quantiles(answered), p.replies.Load()
	testenv.FailIf(m.answers.N == 0, "no player could answer in the measured time; use fewer -players, or measure for longer")
	return m
}
