package players

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// Config configures a group. All fields without a meaning of their zero value are needed.
type Config struct {
	Servers func() []string                       // the URLs of the nodes, as they are now
	Token   func(role, id string) (string, error) // mints tokens; nil, or a token "": the server makes a guest
	Dialer  func(n int) *net.Dialer               // of the nth client; nil: any local address
	Checker *checker.Checker
	Stats   *Recorder
	Seed    uint64 // of all choices
	Habits  Habits

	IDPrefix   string // of the players with a minted token
	OtherMatch string // which cheaters try to answer; "": none

	ReplyTimeout      time.Duration // for a reply, before the client tries another connection
	ConnectTimeout    time.Duration // until a client gives up to connect
	SilenceTimeout    time.Duration // between two pushes of a match
	LateMatchWait     time.Duration // for a match that the server made before the player left the queue
	ConnectsPerSecond float64       // 0: no limit
	Strict            bool          // a lost connection and any refusal but "settling the last match" are violations

	Questions      int           // per arena
	Ranked         bool          // arenas count for leaderboards
	ReadInterval   time.Duration // of readers
	PingInterval   time.Duration // of watchers; 0: they send no pings
	NewGuestPeriod time.Duration // of new guests
}

// Habits are how players behave. A share is a probability from 0 to 1.
type Habits struct {
	Think time.Duration // a player answers at a random time within it; 0: at once

	SkipShare       float64 // of questions that a player does not answer
	LastMomentShare float64 // of answers that are sent at about the deadline
	RepeatShare     float64 // of accepted answers that are sent once more
	SecondShare     float64 // of accepted answers that are followed by a different one
	OutShare        float64 // of questions that an eliminated player answers
	MoveShare       float64 // of questions at which a player loses the connection
	MoveFirstShare  float64 // of matches before which a player changes the connection
	Cheats          bool    // a player answers each question in every way that is not allowed; see matchRun.cheat
}

// Kinds of durations that a group records.
const (
	Connecting = "connect"   // from dialling to welcome
	Served     = "served"    // from the first attempt of an idle session or a watcher to its welcome
	Resumed    = "resumed"   // from the loss of a connection until the player has its match again
	Answer     = "answer"    // from an answer to answered
	Found      = "found"     // from duel.join to match.found
	Question   = "question"  // from opens_at until a player has the question
	Own        = "own"       // from the close of a question until a player has a result of its own
	Settled    = "settled"   // from match.over to settled: in the ledger and on the leaderboards
	Board      = "board"     // a request for a leaderboard over HTTP
	Pong       = "pong"      // from a ping to its pong
	NewGuest   = "new guest" // until a new guest is made, connected and welcome
	Behaviour  = "behaviour" // a request that posts behaviours
)

// Group is a set of running clients. It is safe for concurrent use.
type Group struct {
	Config
	solutions solutions
	limiter   *rate.Limiter
	offers    chan *seat // seats in arenas for players of duels

	Connected atomic.Int64
	Posted    atomic.Int64 // behaviours that the server has answered for
	clients   atomic.Int64 // made so far

	arenaMatch atomic.Value // string: a match of an arena

	life    context.Context // when it ends, all clients stop at once
	closing context.Context // when it ends, clients start nothing new
	close   context.CancelFunc
	tasks   sync.WaitGroup
	hosting sync.WaitGroup // of the arenas

	mu        sync.Mutex
	tokens    map[string]string // by player
	duellists []*member
	quits     []context.CancelFunc // one per duellist
}

// NewGroup makes a group without clients. When ctx ends, all its clients stop.
func NewGroup(ctx context.Context, c Config) *Group {
	g := &Group{Config: c, life: ctx, offers: make(chan *seat, 10_000), limiter: rate.NewLimiter(rate.Inf, 1), tokens: make(map[string]string)}
	if c.ConnectsPerSecond > 0 {
		g.SetRate(c.ConnectsPerSecond)
	}
	if c.Dialer == nil {
		g.Dialer = func(int) *net.Dialer { return nil }
	}
	g.closing, g.close = context.WithCancel(ctx)
	return g
}

// SetRate changes how many clients connect per second.
func (g *Group) SetRate(perSecond float64) { g.limiter.SetLimit(rate.Limit(perSecond)) }

// ArenaMatch returns the newest match of an arena, "" before the first.
func (g *Group) ArenaMatch() string {
	match, _ := g.arenaMatch.Load().(string)
	return match
}

// Stop lets every client finish its current match and leave.
func (g *Group) Stop() { g.close() }

// Wait waits until all clients have left, after Stop or the end of the context. The
// players of duels stay connected until Disconnect.
func (g *Group) Wait() {
	g.tasks.Wait()
	g.close()
}

// Disconnect closes the connections of all players of duels, after Wait.
func (g *Group) Disconnect() {
	for _, p := range g.duellists {
		p.disconnect()
	}
}

// awaitConnect waits until the next client may connect. It returns false if the group is
// closing.
func (g *Group) awaitConnect() bool { return g.limiter.Wait(g.closing) == nil }

// pause waits. It returns false if the group closes during the wait.
func (g *Group) pause(d time.Duration) bool { return testenv.Pause(g.closing, d) == nil }

// server returns the URL of a random node, other than last if there are several.
func (g *Group) server(dice *rand.Rand, last string) string {
	urls := g.Servers()
	n := dice.IntN(len(urls))
	if urls[n] == last {
		n = (n + 1) % len(urls)
	}
	return urls[n]
}

// newClient returns the number of the next client, and what decides its choices.
func (g *Group) newClient() (n int, dice *rand.Rand) {
	n = int(g.clients.Add(1)) - 1
	return n, rand.New(rand.NewPCG(g.Seed, uint64(n))) //nolint:gosec // a seed must repeat its choices
}

// readTimeout bounds a read of Get.
const readTimeout = 10 * time.Second

// Get reads a path below the URL of the game from a random server, with the token of a player of
// the group. No player ("") has no token.
func (g *Group) Get(ctx context.Context, player, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	g.mu.Lock()
	token := g.tokens[player]
	g.mu.Unlock()
	urls := g.Servers()
	return Call{URL: urls[rand.IntN(len(urls))] + "/v1/games/demo/" + path, Token: token}.Do(ctx, v) //nolint:gosec // no secret
}
