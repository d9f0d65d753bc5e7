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
	player "laststand/loadtest/client"
)

const (
	questions = 5
	limitMS   = 60_000 // no test waits for it: a question closes when both have answered
)

// TestFiftyDuelsFollowTheRulesEndToEnd plays 50 duels at the same time over real sockets, embedded and on a real Redis and
// PostgreSQL. It checks all frames against the rules, and all stored data against the frames.
func TestFiftyDuelsFollowTheRulesEndToEnd(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		flags := cli{Config: configFile(t, fastDuels), Data: &db.Dir, Database: &db.URL}
		if db.URL != "" {
			url := listedRedis(t)
			flags.Redis = &url
		}
		n := startNode(t, flags)
		transcripts := playDuels(t, n.url, 50)
		byMatch := make(map[string][]*duelTranscript)
		for _, g := range transcripts {
			g.check(t)
			byMatch[g.match] = append(byMatch[g.match], g)
		}
		if len(byMatch) != 50 {
			t.Fatalf("%d matches were played, want 50", len(byMatch))
		}
		for match, perspectives := range byMatch {
			if len(perspectives) != 2 || !bytes.Equal(perspectives[0].numbered.Bytes(), perspectives[1].numbered.Bytes()) {
				t.Errorf("the players of %s were pushed different things", match)
			}
		}
		checkStoredResults(t, n.url, transcripts)
		if db.URL == "" { // the boards are in the process: they are rebuilt from the ledger
			n.stop()
			checkStoredResults(t, startNode(t, flags).url, transcripts)
		}
	})
}

// playDuels plays duels between pairs of new players, all at the same time.
func playDuels(t *testing.T, url string, pairs int) []*duelTranscript {
	t.Helper()
	transcripts := make([]*duelTranscript, 2*pairs)
	for i := range transcripts {
		g, err := player.CreateGuest(t.Context(), url, "demo", "")
		if err != nil {
			t.Fatal(err)
		}
		transcripts[i] = &duelTranscript{guest: g, answers: map[int]protocol.Answered{}}
	}
	var group errgroup.Group
	for _, g := range transcripts {
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
	return transcripts
}

// duelTranscript is a duel as one of its players saw it.
type duelTranscript struct {
	guest    player.Guest
	match    string
	seq      int64
	numbered bytes.Buffer // all numbered pushes
	open     int          // the question that is open, -1 for none
	answers  map[int]protocol.Answered
	found    protocol.MatchFound
	asked    []protocol.Question
	closed   []protocol.QuestionClosed
	over     protocol.MatchOver
	settled  *protocol.Settled
}

// play plays one duel to its end and records the frames.
func (g *duelTranscript) play(p *player.Player) error {
	g.open = -1
	if _, err := p.Send(protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}); err != nil {
		return err
	}
	for g.settled == nil {
		f, err := p.Read(time.Minute)
		if err != nil {
			return err
		}
		if err := g.handleFrame(p, f); err != nil {
			return err
		}
	}
	return nil
}

func (g *duelTranscript) handleFrame(p *player.Player, f player.Frame) error {
	if f.Seq != 0 {
		if g.seq++; f.Seq != g.seq {
			return fmt.Errorf("push %d came where %d was due: %s", f.Seq, g.seq, f.Raw)
		}
		g.numbered.Write(f.Raw)
		g.match = f.Match
	}
	if f.Type != protocol.TypeQuestionClosed && revealsAnswer(f.Raw) {
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
		g.answers[a.Question] = a
		return err
	case protocol.TypeAnswerSeen:
		var seen protocol.AnswerSeen
		if err := json.Unmarshal(f.Data, &seen); err != nil {
			return err
		}
		if _, answers := g.answers[seen.Question]; seen.Player == g.guest.ID && !answers {
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

// revealsAnswer reports whether a frame has a field that only the close of a question may have.
func revealsAnswer(frame []byte) bool {
	for _, word := range []string{`"answer":`, `"explanation"`, `"right"`, `"accepted":[`, `"target"`, `"tolerance"`} {
		if bytes.Contains(frame, []byte(word)) {
			return true
		}
	}
	return false
}

func (g *duelTranscript) answer(p *player.Player, f player.Frame) error {
	var q protocol.Question
	if err := json.Unmarshal(f.Data, &q); err != nil {
		return err
	}
	g.asked, g.open = append(g.asked, q), q.Question
	time.Sleep(time.Duration(rand.N(30)) * time.Millisecond) // a player thinks
	_, err := p.Send(protocol.TypeAnswer, protocol.Answer{Match: f.Match, Question: &q.Question, Given: player.ArbitraryAnswer(q)})
	return err
}
