package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/player"
)

const (
	questions = 5
	limitMS   = 60_000 // nobody waits for it: a question closes when both have answered
)

// TestDuelsEndToEnd has 50 pairs play a duel each at once, over real sockets,
// once embedded and once on a real Redis and PostgreSQL, and checks all that
// was said against the rules and all that was kept against what was said.
func TestDuelsEndToEnd(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		flags := cli{Config: configFile(t, fast), Data: &db.Dir, Database: &db.URL}
		if db.URL != "" {
			url := listedRedis(t)
			flags.Redis = &url
		}
		n := startNode(t, flags)
		games := playPairs(t, n.url, 50)
		byMatch := make(map[string][]*transcript)
		for _, g := range games {
			g.check(t)
			byMatch[g.match] = append(byMatch[g.match], g)
		}
		if len(byMatch) != 50 {
			t.Fatalf("%d matches were played, want 50", len(byMatch))
		}
		for match, both := range byMatch {
			if len(both) != 2 || !bytes.Equal(both[0].numbered.Bytes(), both[1].numbered.Bytes()) {
				t.Errorf("the players of %s were pushed different things", match)
			}
		}
		checkKept(t, n.url, games)
		if db.URL == "" { // the boards are in the process: they are rebuilt from the ledger
			n.stop()
			checkKept(t, startNode(t, flags).url, games)
		}
	})
}

// playPairs has pairs of new players play a duel each, all at once.
func playPairs(t *testing.T, url string, pairs int) []*transcript {
	t.Helper()
	games := make([]*transcript, 2*pairs)
	for i := range games {
		g, err := player.NewGuest(t.Context(), url, "demo", "")
		if err != nil {
			t.Fatal(err)
		}
		games[i] = &transcript{guest: g, told: map[int]protocol.Answered{}}
	}
	var group errgroup.Group
	for _, g := range games {
		group.Go(func() error {
			p, err := player.Connect(t.Context(), url, g.guest, nil)
			if err != nil {
				return err
			}
			defer p.Close()
			return g.play(p)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return games
}

// transcript is a duel as one of its players saw it.
type transcript struct {
	guest    player.Guest
	match    string
	seq      int64
	numbered bytes.Buffer // all numbered pushes
	open     int          // the question that is open, -1 for none
	told     map[int]protocol.Answered
	found    protocol.MatchFound
	asked    []protocol.Question
	closed   []protocol.QuestionClosed
	over     protocol.MatchOver
	settled  *protocol.Settled
}

// play plays one duel to its end and writes down what it is told.
func (g *transcript) play(p *player.Player) error {
	g.open = -1
	if _, err := p.Send(protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}); err != nil {
		return err
	}
	for g.settled == nil {
		f, err := p.Read(time.Minute)
		if err != nil {
			return err
		}
		if err := g.take(p, f); err != nil {
			return err
		}
	}
	return nil
}

func (g *transcript) take(p *player.Player, f player.Frame) error {
	if f.Seq != 0 {
		if g.seq++; f.Seq != g.seq {
			return fmt.Errorf("push %d came where %d was due: %s", f.Seq, g.seq, f.Raw)
		}
		g.numbered.Write(f.Raw)
		g.match = f.Match
	}
	if f.Type != protocol.TypeQuestionClosed && betrays(f.Raw) {
		return fmt.Errorf("this betrays an answer: %s", f.Raw)
	}
	switch f.Type {
	case protocol.TypeMatchFound:
		return json.Unmarshal(f.Data, &g.found)
	case protocol.TypeQuestion:
		return g.answer(p, f)
	case protocol.TypeAnswered:
		var a protocol.Answered
		err := json.Unmarshal(f.Data, &a)
		g.told[a.Question] = a
		return err
	case protocol.TypeAnswerSeen:
		var seen protocol.AnswerSeen
		if err := json.Unmarshal(f.Data, &seen); err != nil {
			return err
		}
		if _, told := g.told[seen.Question]; seen.Player == g.guest.ID && !told {
			return fmt.Errorf("the push came before the reply that caused it: %s", f.Raw)
		}
	case protocol.TypeQuestionClosed:
		var c protocol.QuestionClosed
		err := json.Unmarshal(f.Data, &c)
		g.closed, g.open = append(g.closed, c), -1
		return err
	case protocol.TypeMatchOver:
		return json.Unmarshal(f.Data, &g.over)
	case protocol.TypeSettled:
		return json.Unmarshal(f.Data, &g.settled)
	case protocol.TypeError:
		return fmt.Errorf("refused: %s", f.Raw)
	}
	return nil
}

// betrays says whether a frame names anything that only a close may say.
func betrays(frame []byte) bool {
	for _, word := range []string{`"answer":`, `"explanation"`, `"right"`, `"accepted":[`, `"target"`, `"tolerance"`} {
		if bytes.Contains(frame, []byte(word)) {
			return true
		}
	}
	return false
}

func (g *transcript) answer(p *player.Player, f player.Frame) error {
	var q protocol.Question
	if err := json.Unmarshal(f.Data, &q); err != nil {
		return err
	}
	g.asked, g.open = append(g.asked, q), q.Question
	time.Sleep(time.Duration(rand.N(30)) * time.Millisecond) // a player thinks
	_, err := p.Send(protocol.TypeAnswer, protocol.Answer{Match: f.Match, Question: &q.Question, Given: player.Guess(q)})
	return err
}
