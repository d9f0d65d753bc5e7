package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

// pause is the time between pushes, so that one is delivered before the next.
const pause = 500 * time.Millisecond

// arena measures the questions of an arena with one player. The host moves from question
// to question.
func arena(ctx context.Context, o options) (outcome, error) {
	binary, done, err := harness.Build(ctx, "")
	if err != nil {
		return outcome{}, err
	}
	defer done()
	server, err := harness.Start(ctx, harness.Options{Binary: binary, Redis: true, Game: "{arena: {countdown_ms: 0, reveal_ms: 60000}}"})
	if err != nil {
		return outcome{}, err
	}
	defer server.Stop()
	host, made, err := harness.MakeArena(ctx, server.URL, protocol.NewArena{
		Mode: "buzzer", Name: "broadcast", Pace: "host", Questions: protocol.ArenaQuestions{Count: o.pushes, Lang: "en"},
	})
	if err != nil {
		return outcome{}, err
	}
	defer host.Close()
	guest, err := player.NewGuest(ctx, server.URL, "demo", "")
	if err != nil {
		return outcome{}, err
	}
	only, err := player.Connect(ctx, server.URL, guest, nil)
	if err != nil {
		return outcome{}, err
	}
	defer only.Close()
	if err := harness.Ask(only, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code}); err != nil {
		return outcome{}, err
	}
	group, err := gather(ctx, o, server.URL, made.Code)
	if err != nil {
		return outcome{}, err
	}
	took, err := taken(ctx, server, o, func() error { return lead(host, made.ArenaID, o.pushes) })
	if err != nil {
		return outcome{}, err
	}
	one, err := sum(group, o)
	one.server = o.perFrame(took, 2*o.pushes) // the close of a question goes to all watchers too
	return one, err
}

// taken returns the processor time that a server uses while f runs. If the options ask
// for it, taken also writes the server's profiles of that time.
func taken(ctx context.Context, s *harness.Server, o options, f func() error) (time.Duration, error) {
	profiled := make(chan error, 1)
	if o.profile == "" {
		profiled <- nil
	} else {
		token, err := s.Admin(ctx)
		if err != nil {
			return 0, err
		}
		go func() { profiled <- s.Profile(ctx, token, o.profile, max(int(o.lasts().Seconds()), 1)) }()
	}
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := s.CPU()
	return after.Less(before).Server, errors.Join(err, <-profiled)
}

// lasts is how long a host leads an arena.
func (o options) lasts() time.Duration { return time.Duration(2+2*o.pushes) * pause }

// perFrame returns the processor time of each frame, in µs, if each watcher gets this
// many frames.
func (o options) perFrame(took time.Duration, each int) float64 {
	return float64(took.Microseconds()) / float64(each*o.watchers)
}

// lead starts the arena and opens and closes its questions.
func lead(host *player.Player, arenaID string, questions int) error {
	if err := harness.Ask(host, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: arenaID}); err != nil {
		return err
	}
	time.Sleep(2 * pause)
	for q := range questions {
		for _, after := range []int{q - 1, q} { // opens the question, closes it
			if err := harness.Ask(host, protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: arenaID, After: after}); err != nil {
				return err
			}
			time.Sleep(pause)
		}
	}
	return nil
}

func sum(c *watcherGroup, o options) (outcome, error) {
	pushes, err := c.measureAll(o)
	if err != nil {
		return outcome{}, err
	}
	if len(pushes) != o.pushes {
		return outcome{}, fmt.Errorf("%d pushes were seen, want %d", len(pushes), o.pushes)
	}
	var ms []float64
	for _, p := range pushes {
		ms = append(ms, float64(p.Last)/1000-float64(p.Sent))
	}
	slices.Sort(ms)
	return outcome{p50: ms[len(ms)/2], max: ms[len(ms)-1], bytes: pushes[0].Bytes}, nil
}
