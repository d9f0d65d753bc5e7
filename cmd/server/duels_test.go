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
	"laststand/loadtest/checker"
	player "laststand/loadtest/client"
)

const (
	questions = 5
	limitMS   = 60_000 // of every test that plays duels; no test waits for it, because a question closes when both have answered
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
		matches := make(map[string]bool)
		for _, g := range transcripts {
			matches[g.match] = true
		}
		if len(matches) != 50 {
			t.Fatalf("%d matches were played, want 50", len(matches))
		}
		checkStoredResults(t, n.url, transcripts)
		if db.URL == "" { // the leaderboards are in the memory of the process, and a restart rebuilds them from the ledger
			n.stop()
			checkStoredResults(t, startNode(t, flags).url, transcripts)
		}
	})
}

// playDuels plays duels between pairs of new players, all at the same time, and compares all
// frames with the rules.
func playDuels(t *testing.T, url string, pairs int) []*duelTranscript {
	t.Helper()
	rules := &checker.Checker{LimitMS: limitMS}
	transcripts := make([]*duelTranscript, 2*pairs)
	for i := range transcripts {
		g, err := player.CreateGuest(t.Context(), url, "demo", "")
		if err != nil {
			t.Fatal(err)
		}
		transcripts[i] = &duelTranscript{guest: g, view: rules.Player(g.ID), sent: map[int64]protocol.Answer{}, answers: map[int]protocol.Answered{}}
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
	judge(t, rules)
	return transcripts
}

// judge compares all matches with the rules, after their clients have ended.
func judge(t *testing.T, rules *checker.Checker) {
	t.Helper()
	rules.JudgeRest()
	violations, _ := rules.Violations.All()
	for _, v := range violations {
		t.Error(v)
	}
}

// duelTranscript is a duel as one of its players saw it.
type duelTranscript struct {
	guest   player.Guest
	view    *checker.View
	match   string
	sent    map[int64]protocol.Answer // by request id
	answers map[int]protocol.Answered // by question
	over    protocol.MatchOver
	settled *protocol.Settled
}

// play plays one duel to its end and records the frames.
func (g *duelTranscript) play(p *player.Player) error {
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
	g.view.Finish()
	return nil
}

func (g *duelTranscript) handleFrame(p *player.Player, f player.Frame) error {
	if err := g.view.Push(f, 0); err != nil {
		return err
	}
	g.match = g.view.Match()
	if f.Type != protocol.TypeQuestionClosed && revealsAnswer(f.Raw) {
		return fmt.Errorf("the frame reveals an answer: %s", f.Raw)
	}
	switch f.Type {
	case protocol.TypeQuestion:
		return g.answer(p, f)
	case protocol.TypeAnswered:
		var a protocol.Answered
		if err := json.Unmarshal(f.Data, &a); err != nil {
			return err
		}
		g.answers[a.Question] = a
		_, err := g.view.Accepted(g.sent[*f.Re], f.Data)
		return err
	case protocol.TypeAnswerSeen:
		var seen protocol.AnswerSeen
		if err := json.Unmarshal(f.Data, &seen); err != nil {
			return err
		}
		if _, answers := g.answers[seen.Question]; seen.Player == g.guest.ID && !answers {
			return fmt.Errorf("the push came before the reply that caused it: %s", f.Raw)
		}
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
	time.Sleep(time.Duration(rand.N(30)) * time.Millisecond) // a player thinks
	a := protocol.Answer{Match: f.Match, Question: &q.Question, Given: player.ArbitraryAnswer(q)}
	g.view.Sent(a)
	id, err := p.Send(protocol.TypeAnswer, a)
	g.sent[id] = a
	return err
}
