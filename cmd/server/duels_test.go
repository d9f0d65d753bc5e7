package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

const (
	duelQuestions = 5
	duelLimitMS   = 60_000 // of every test that plays duels; no test waits for it, because a question closes when both have answered
)

// TestFiftyDuelsFollowTheRulesEndToEnd plays 50 duels at the same time over real sockets, embedded and on a real Redis and
// PostgreSQL. It checks all frames against the rules, and all stored data against the frames.
func TestFiftyDuelsFollowTheRulesEndToEnd(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		flags := cli.Flags{Config: configFile(t, fastDuelsConfig), Data: &db.Dir, Database: &db.URL}
		if db.URL != "" {
			url := redisWithDocumentedKeys(t)
			flags.Redis = &url
		}
		node := startNode(t, flags)
		transcripts := playDuels(t, node.url, 50)
		matches := make(map[string]bool)
		for _, transcript := range transcripts {
			matches[transcript.match] = true
		}
		if len(matches) != 50 {
			t.Fatalf("%d matches were played, want 50", len(matches))
		}
		checkStoredResults(t, node.url, transcripts)
		if db.URL == "" { // the leaderboards are in the memory of the process, and a restart rebuilds them from the ledger
			node.stop()
			checkStoredResults(t, startNode(t, flags).url, transcripts)
		}
	})
}

// playDuels plays duels between pairs of new players, all at the same time, and compares all
// frames with the rules.
func playDuels(t *testing.T, url string, pairs int) []*duelTranscript {
	t.Helper()
	rules := &checker.Checker{LimitMS: duelLimitMS}
	transcripts := make([]*duelTranscript, 2*pairs)
	for i := range transcripts {
		guest, err := player.CreateGuest(t.Context(), url, "demo", "")
		if err != nil {
			t.Fatal(err)
		}
		transcripts[i] = &duelTranscript{guest: guest, view: rules.Player(guest.ID), sent: map[int64]protocol.Answer{}, answers: map[int]protocol.Answered{}}
	}
	var group errgroup.Group
	for _, transcript := range transcripts {
		group.Go(func() error {
			p, err := player.Connect(t.Context(), url, transcript.guest, nil)
			if err != nil {
				return err
			}
			defer p.Close()
			return transcript.play(p)
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
func (d *duelTranscript) play(p *player.Player) error {
	if _, err := p.Send(protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}); err != nil {
		return err
	}
	for d.settled == nil {
		f, err := p.Read(time.Minute)
		if err != nil {
			return err
		}
		if err := d.handleFrame(p, f); err != nil {
			return err
		}
	}
	d.view.Finish()
	return nil
}

func (d *duelTranscript) handleFrame(p *player.Player, f checker.Frame) error {
	if err := d.view.Push(f, 0); err != nil {
		return err
	}
	d.match = d.view.Match()
	if f.Type != protocol.TypeQuestionClosed && revealsAnswer(f.Raw) {
		return fmt.Errorf("the frame reveals an answer: %s", f.Raw)
	}
	switch f.Type {
	case protocol.TypeQuestion:
		return d.answer(p, f)
	case protocol.TypeAnswered:
		var a protocol.Answered
		if err := json.Unmarshal(f.Data, &a); err != nil {
			return err
		}
		d.answers[a.Question] = a
		_, err := d.view.Accepted(d.sent[*f.Re], f.Data)
		return err
	case protocol.TypeAnswerSeen:
		var seen protocol.AnswerSeen
		if err := json.Unmarshal(f.Data, &seen); err != nil {
			return err
		}
		if _, hasAnswer := d.answers[seen.Question]; seen.Player == d.guest.ID && !hasAnswer {
			return fmt.Errorf("answer.seen came before the reply to the same answer: %s", f.Raw)
		}
	case protocol.TypeMatchOver:
		return json.Unmarshal(f.Data, &d.over)
	case protocol.TypeSettled:
		return json.Unmarshal(f.Data, &d.settled)
	case protocol.TypeError:
		return fmt.Errorf("refused: %s", f.Raw)
	}
	return nil
}

// revealsAnswer reports whether a frame has a field that only the close of a question may have.
func revealsAnswer(frame []byte) bool {
	for _, field := range []string{`"answer":`, `"explanation"`, `"right"`, `"accepted":[`, `"target"`, `"tolerance"`} {
		if bytes.Contains(frame, []byte(field)) {
			return true
		}
	}
	return false
}

func (d *duelTranscript) answer(p *player.Player, f checker.Frame) error {
	var q protocol.Question
	if err := json.Unmarshal(f.Data, &q); err != nil {
		return err
	}
	time.Sleep(time.Duration(rand.N(30)) * time.Millisecond) // a player thinks
	a := protocol.Answer{Match: f.Match, Question: &q.Question, Given: player.ArbitraryAnswer(q)}
	d.view.Sent(a)
	id, err := p.Send(protocol.TypeAnswer, a)
	d.sent[id] = a
	return err
}
