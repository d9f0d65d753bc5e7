package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
	"laststand/loadtest/rig"
)

// bank is as many questions, which one text answers.
func bank(questions int) []byte {
	all := make([]map[string]any, questions)
	for i := range all {
		all[i] = map[string]any{
			"kind": "text", "difficulty": "easy", "text": fmt.Sprintf("What is asked in question %d?", i), "accepted": []string{"right"},
		}
	}
	raw, _ := json.Marshal(map[string]any{ // plain fields always encode
		"bank": "load", "lang": "en", "category": "load", "source": "none", "licence": "CC0-1.0", "questions": all,
	})
	return raw
}

func answers(ctx context.Context, s *rig.Server, o options) (outcome, error) {
	return play(ctx, s, o, &contest{mode: "survival", arenas: o.arenas, answer: `"wrong"`})
}

func firsts(ctx context.Context, s *rig.Server, o options) (outcome, error) {
	return play(ctx, s, o, &contest{mode: "buzzer", arenas: 1, answer: `"right"`})
}

// contest is what players play, and how all of them answer.
type contest struct {
	mode, answer string
	arenas       int

	mu      sync.Mutex
	latency *hdrhistogram.Histogram // µs
	firsts  int
	began   time.Time
	ended   time.Time
}

// play plays arenas of a mode to their end.
func play(ctx context.Context, s *rig.Server, o options, c *contest) (outcome, error) {
	c.latency = hdrhistogram.New(1, 60_000_000, 3)
	var everybody errgroup.Group
	for range c.arenas {
		host, made, err := rig.MakeArena(ctx, s.URL, protocol.NewArena{
			Mode: c.mode, Name: "load", Pace: "auto", Questions: protocol.ArenaQuestions{Count: o.questions, Bank: "load"},
		})
		if err != nil {
			return outcome{}, err
		}
		defer host.Close()
		for range o.players {
			p, err := seat(ctx, s.URL, made.Code)
			if err != nil {
				return outcome{}, err
			}
			defer p.Close()
			everybody.Go(func() error { return c.contend(p) })
		}
		everybody.Go(func() error { return rig.Ask(host, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID}) })
	}
	before, err := costs(ctx, s.Redis)
	if err != nil {
		return outcome{}, err
	}
	if err := everybody.Wait(); err != nil {
		return outcome{}, err
	}
	after, err := costs(ctx, s.Redis)
	if err != nil {
		return outcome{}, err
	}
	return c.sum(after.less(before)), c.check(o)
}

func seat(ctx context.Context, url, code string) (*player.Player, error) {
	guest, err := player.NewGuest(ctx, url, "demo", "")
	if err != nil {
		return nil, err
	}
	p, err := player.Connect(ctx, url, guest, nil)
	if err != nil {
		return nil, err
	}
	return p, rig.Ask(p, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code})
}

// contend answers every question as soon as it is asked, until the match is
// over.
func (c *contest) contend(p *player.Player) error {
	sent := make(map[int64]time.Time)
	for {
		f, err := p.Read(time.Minute)
		if err != nil {
			return err
		}
		switch f.Type {
		case protocol.TypeQuestion:
			var q protocol.Question
			if err := json.Unmarshal(f.Data, &q); err != nil {
				return err
			}
			at := time.Now()
			id, err := p.Send(protocol.TypeAnswer, protocol.Answer{
				Match: f.Match, Question: &q.Question, Given: protocol.Given{Value: json.RawMessage(c.answer)},
			})
			if err != nil {
				return err
			}
			sent[id] = at
		case protocol.TypeAnswered, protocol.TypeError:
			if err := c.decided(f, sent[*f.Re]); err != nil {
				return err
			}
		case protocol.TypeMatchOver:
			return nil
		}
	}
}

// decided notes the reply to an answer.
func (c *contest) decided(f player.Frame, sent time.Time) error {
	var reply struct {
		protocol.Answered
		Code protocol.Code
	}
	if err := json.Unmarshal(f.Data, &reply); err != nil {
		return err
	}
	if f.Type == protocol.TypeError && (c.mode != "buzzer" || reply.Code != protocol.CodeQuestionClosed) {
		return fmt.Errorf("refused: %s", f.Raw)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply.First != nil && *reply.First {
		c.firsts++
	}
	if c.began.IsZero() || sent.Before(c.began) {
		c.began = sent
	}
	c.ended = f.Came
	return c.latency.RecordValue(max(f.Came.Sub(sent).Microseconds(), 1))
}

// check refuses a run that was not what it says.
func (c *contest) check(o options) error {
	switch want := int64(c.arenas * o.players * o.questions); {
	case c.mode == "survival" && c.latency.TotalCount() != want:
		return fmt.Errorf("%d answers were accepted, want %d", c.latency.TotalCount(), want)
	case c.mode == "buzzer" && c.firsts != o.questions:
		return fmt.Errorf("%d questions had %d firsts", o.questions, c.firsts)
	}
	return nil
}

func (c *contest) sum(spent cost) outcome {
	n := float64(c.latency.TotalCount())
	return outcome{
		rate: n / c.ended.Sub(c.began).Seconds(),
		p50:  float64(c.latency.ValueAtQuantile(50)) / 1000, p99: float64(c.latency.ValueAtQuantile(99)) / 1000,
		roundTrips: float64(spent.reads) / n, commands: float64(spent.commands) / n,
	}
}
