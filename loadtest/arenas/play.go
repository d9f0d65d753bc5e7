package main

import (
	"bytes"
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

// play seats the players of all arenas, then starts these and plays them to
// their end: only that is measured.
func play(ctx context.Context, s *rig.Server, o options, c *contest) (outcome, error) {
	c.latency = hdrhistogram.New(1, 60_000_000, 3)
	var everybody errgroup.Group
	var starts []func() error
	for range c.arenas {
		a, err := seated(ctx, s, o, c.mode)
		if err != nil {
			return outcome{}, err
		}
		defer a.close()
		for _, p := range a.players {
			everybody.Go(func() error { return c.contend(p) })
		}
		starts = append(starts, a.start)
	}
	before, err := costs(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	for _, start := range starts {
		everybody.Go(start)
	}
	if err := everybody.Wait(); err != nil {
		return outcome{}, err
	}
	after, err := costs(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	return sum(c.latency, c.ended.Sub(c.began).Seconds(), after.less(before)), c.check(o)
}

// arena is one that waits for its start.
type arena struct {
	id      string
	host    *player.Player
	players []*player.Player
}

func seated(ctx context.Context, s *rig.Server, o options, mode string) (*arena, error) {
	host, made, err := rig.MakeArena(ctx, s.URL, protocol.NewArena{
		Mode: mode, Name: "load", Pace: "auto", Questions: protocol.ArenaQuestions{Count: o.questions, Bank: "load"},
	})
	if err != nil {
		return nil, err
	}
	a := &arena{id: made.ArenaID, host: host}
	for range o.players {
		p, err := seat(ctx, s.URL, made.Code)
		if err != nil {
			a.close()
			return nil, err
		}
		a.players = append(a.players, p)
	}
	return a, nil
}

func (a *arena) start() error {
	return rig.Ask(a.host, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: a.id})
}

func (a *arena) close() {
	for _, p := range append(a.players, a.host) {
		_ = p.Close()
	}
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
// over. It shares the machine with what it measures, so it looks at no more of
// a frame than it has to.
func (c *contest) contend(p *player.Player) error {
	sent := make(map[int64]time.Time)
	for {
		raw, err := p.ReadRaw(time.Minute)
		if err != nil {
			return err
		}
		switch {
		case is(raw, protocol.TypeQuestion):
			id, at, err := c.answerTo(p, raw)
			if err != nil {
				return err
			}
			sent[id] = at
		case bytes.HasPrefix(raw, []byte(`{"re":`)):
			if err := c.decided(raw, sent); err != nil {
				return err
			}
		case is(raw, protocol.TypeMatchOver):
			return nil
		}
	}
}

// is says whether a frame is a push of a type.
func is(raw []byte, kind string) bool { return bytes.HasPrefix(raw, []byte(`{"type":"`+kind+`",`)) }

func (c *contest) answerTo(p *player.Player, question []byte) (id int64, at time.Time, err error) {
	var asked struct {
		Match string
		Data  struct{ Question int }
	}
	if err := json.Unmarshal(question, &asked); err != nil {
		return 0, at, err
	}
	at = time.Now()
	id, err = p.Send(protocol.TypeAnswer, protocol.Answer{
		Match: asked.Match, Question: &asked.Data.Question, Given: protocol.Given{Value: json.RawMessage(c.answer)},
	})
	return id, at, err
}

// decided notes the reply to an answer.
func (c *contest) decided(raw []byte, sent map[int64]time.Time) error {
	came := time.Now()
	var reply struct {
		Re   int64
		Type string
		Data struct {
			First bool
			Code  protocol.Code
		}
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return err
	}
	if reply.Type == protocol.TypeError && (c.mode != "buzzer" || reply.Data.Code != protocol.CodeQuestionClosed) {
		return fmt.Errorf("refused: %s", raw)
	}
	at := sent[reply.Re]
	delete(sent, reply.Re)
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply.Data.First {
		c.firsts++
	}
	if c.began.IsZero() || at.Before(c.began) {
		c.began = at
	}
	c.ended = came
	return c.latency.RecordValue(max(came.Sub(at).Microseconds(), 1))
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

// sum is what as many answers as a histogram has (µs) took and cost.
func sum(latency *hdrhistogram.Histogram, seconds float64, spent cost) outcome {
	n := float64(latency.TotalCount())
	out := spent.each(n)
	out.rate = n / seconds
	out.p50, out.p99 = float64(latency.ValueAtQuantile(50))/1000, float64(latency.ValueAtQuantile(99))/1000
	return out
}
