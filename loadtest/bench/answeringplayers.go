package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
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
	cluster   *cluster
	all       []*players.AnsweringPlayer
	hosts     []*players.Player
	arenaIDs  []string
	maxDelay  atomic.Int64  // see players.AnsweringPlayer
	answering chan struct{} // closed at the first reply
	firstOver chan struct{} // closed when the first player has ended an arena
	allOver   chan struct{} // closed when all players have ended their arenas
	failed    chan error    // holds the first error
	isEnding  atomic.Bool   // connections are being closed, so errors are no faults
	playing   sync.WaitGroup

	first, over sync.Once
	latencies   *players.Recorder // of answers
	replies     atomic.Int64      // to answers so far
	firsts      atomic.Int64      // first right answers so far
	trace       *answerTrace      // nil: none
}

// answered is the kind of the latencies of answers.
const answered = "answered"

// seatPlayers connects players, spread over all nodes, and seats them in arenas.
func seatPlayers(ctx context.Context, c *cluster, o playOptions) (*answeringPlayers, error) {
	p := &answeringPlayers{
		playOptions: o, cluster: c, latencies: players.NewRecorder(playTimeout), all: make([]*players.AnsweringPlayer, o.players),
		answering: make(chan struct{}), firstOver: make(chan struct{}), allOver: make(chan struct{}), failed: make(chan error, 1),
	}
	if o.isTraced {
		p.trace = new(answerTrace)
	}
	p.maxDelay.Store(int64(o.maxDelay))
	err := p.connect(ctx, c.urls)
	for i := 0; i < o.arenas && err == nil; i++ {
		err = p.openArena(ctx, c.urls[i%len(c.urls)], p.all[i*o.players/o.arenas:(i+1)*o.players/o.arenas])
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *answeringPlayers) connect(ctx context.Context, urls []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range p.all {
		group.Go(func() error {
			player, err := connectPlayer(ctx, urls[i%len(urls)], i)
			p.all[i] = &players.AnsweringPlayer{
				Player: player, AnswerJSON: p.answer, MaxDelay: &p.maxDelay, OnReply: p.record, IsBuzzer: p.mode == "buzzer", PlaysDuels: p.mode == "duel",
			}
			if p.trace != nil {
				p.all[i].OnSeen = func() { p.trace.add(pushArrived, time.Now()) }
			}
			return err
		})
	}
	return group.Wait()
}

// openArena makes an arena and seats players in it.
func (p *answeringPlayers) openArena(ctx context.Context, url string, seated []*players.AnsweringPlayer) error {
	host, made, err := makeArena(ctx, url, protocol.NewArena{
		Mode: p.mode, Name: "bench", Pace: "auto", Questions: protocol.ArenaQuestions{Count: p.questions, Bank: "load"},
	})
	if err != nil {
		return err
	}
	p.hosts, p.arenaIDs = append(p.hosts, host), append(p.arenaIDs, made.ArenaID)
	for _, one := range seated {
		if err := one.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code}); err != nil {
			return err
		}
	}
	return nil
}

func (p *answeringPlayers) start() {
	for _, one := range p.all {
		p.playing.Go(func() {
			if p.addError(one.Play(playTimeout)) {
				p.over.Do(func() { close(p.firstOver) })
			}
		})
	}
	for i, host := range p.hosts {
		p.playing.Go(func() { p.addError(host.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: p.arenaIDs[i]})) })
	}
	go func() { // ends with the players
		p.playing.Wait()
		close(p.allOver)
	}()
}

// addError keeps the first error, and returns whether there was none.
func (p *answeringPlayers) addError(err error) bool {
	if err != nil && !p.isEnding.Load() {
		select {
		case p.failed <- err:
		default:
		}
	}
	return err == nil
}

func (p *answeringPlayers) record(r players.Reply) {
	p.replies.Add(1)
	if p.trace != nil {
		receivedAt := time.Now()
		p.trace.add(answerSent, receivedAt.Add(-r.Latency))
		p.trace.add(replyArrived, receivedAt)
	}
	if r.IsFirst {
		p.firsts.Add(1)
	}
	p.latencies.Add(answered, r.Latency)
	p.first.Do(func() { close(p.answering) })
}

// wait waits for an event or the end of a time. It returns an error if a player failed.
func (p *answeringPlayers) wait(ctx context.Context, event <-chan struct{}, timeout time.Duration) error {
	select {
	case <-event:
	case <-time.After(timeout):
	case err := <-p.failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-p.failed: // it may have come at the same time
		return err
	default:
		return nil
	}
}

func (p *answeringPlayers) close() {
	p.isEnding.Store(true)
	for _, one := range p.all {
		if one != nil && one.Player != nil {
			_ = one.Close()
		}
	}
	for _, host := range p.hosts {
		_ = host.Close()
	}
	p.playing.Wait()
}
