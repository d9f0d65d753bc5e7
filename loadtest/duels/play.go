package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// play lets all pairs play duels for the duration of a run.
func play(ctx context.Context, url string, o options, think time.Duration) (outcome, error) {
	players := make([]*player.Player, 2*o.pairs)
	for i := range players {
		g, err := player.NewGuest(ctx, url, "demo", "")
		if err != nil {
			return outcome{}, err
		}
		if players[i], err = player.Connect(ctx, url, g, nil); err != nil {
			return outcome{}, err
		}
		defer players[i].Close()
	}
	until := time.Now().Add(time.Duration(o.seconds) * time.Second)
	seen := make([]outcome, len(players))
	var group errgroup.Group
	for i, p := range players {
		group.Go(func() (err error) {
			seen[i], err = (&duelist{Player: p, think: think}).playUntil(until)
			return err
		})
	}
	err := group.Wait()
	total := outcome{latency: newHistogram()}
	for _, one := range seen {
		if one.latency != nil {
			total.latency.Merge(one.latency)
			total.matches += one.matches
		}
	}
	total.matches /= 2
	return total, err
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

// duelist is an active player.
type duelist struct {
	*player.Player
	think time.Duration // the player answers at a random instant within it
	out   outcome
	seq   int64
	asked time.Time // when the pending answer was sent
}

// playUntil plays duels until the given instant. Then it leaves its match without
// waiting for the opponent.
func (d *duelist) playUntil(until time.Time) (outcome, error) {
	d.out.latency = newHistogram()
	if _, err := d.Send(protocol.TypeDuelJoin, protocol.DuelJoin{}); err != nil {
		return d.out, err
	}
	for time.Now().Before(until) {
		f, err := d.Read(time.Until(until))
		if !time.Now().Before(until) {
			break
		}
		if err != nil {
			return d.out, err
		}
		if err := d.take(f); err != nil {
			return d.out, err
		}
	}
	return d.out, nil
}

// take checks a frame's number and handles the frame.
func (d *duelist) take(f player.Frame) error {
	if f.Seq != 0 {
		if f.Type == protocol.TypeMatchFound {
			d.seq = 0
		}
		if d.seq++; f.Seq != d.seq {
			return fmt.Errorf("push %d of %s came where %d was due", f.Seq, f.Match, d.seq)
		}
	}
	switch f.Type {
	case protocol.TypeQuestion:
		return d.answer(f)
	case protocol.TypeAnswered:
		return d.out.latency.RecordValue(f.Came.Sub(d.asked).Microseconds())
	case protocol.TypeMatchOver:
		d.out.matches++
		_, err := d.Send(protocol.TypeDuelJoin, protocol.DuelJoin{})
		return err
	case protocol.TypeError:
		return d.again(f)
	}
	return nil
}

// again repeats a join after a temporary refusal; any other refusal ends the run.
func (d *duelist) again(f player.Frame) error {
	var e protocol.Error
	if err := json.Unmarshal(f.Data, &e); err != nil {
		return err
	}
	if e.Code != protocol.CodeUnavailable {
		return fmt.Errorf("refused: %s", f.Raw)
	}
	time.Sleep(time.Duration(e.RetryAfterMS) * time.Millisecond)
	_, err := d.Send(protocol.TypeDuelJoin, protocol.DuelJoin{})
	return err
}

func (d *duelist) answer(f player.Frame) error {
	var q protocol.Question
	if err := json.Unmarshal(f.Data, &q); err != nil {
		return err
	}
	if d.think > 0 {
		time.Sleep(rand.N(d.think)) //nolint:gosec // load is no secret
	}
	d.asked = time.Now()
	_, err := d.Send(protocol.TypeAnswer, protocol.Answer{Match: f.Match, Question: &q.Question, Given: player.RandomAnswer(q)})
	return err
}
