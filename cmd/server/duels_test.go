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
)

const (
	duelQuestions = 5
	duelLimitMS   = 60_000 // of every test that plays duels; no test waits for it, because a question closes when both have answered
)

// TestFiftyDuelsFollowTheRulesEndToEnd plays 50 duels at the same time over real sockets, embedded and on a real Redis and
// PostgreSQL. It checks all frames against the rules, and all stored data against the frames.
func TestFiftyDuelsFollowTheRulesEndToEnd(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		flags := cli.Flags{Config: configFile(t, fastDuelsConfig), Data: &db.Dir, Database: &db.URL}
		if db.URL != "" {
			url := redisWithDocumentedKeys(t)
			flags.Redis = &url
		}
		node := startNode(t, flags)
		players := playDuels(t, node.url, 50)
		matches := make(map[string]bool)
		for _, c := range players {
			matches[c.match] = true
		}
		if len(matches) != 50 {
			t.Fatalf("%d matches were played, want 50", len(matches))
		}
		checkStoredResults(t, node.url, players)
		if db.URL == "" { // the leaderboards are in the memory of the process, and a restart rebuilds them from the ledger
			node.stop()
			checkStoredResults(t, startNode(t, flags).url, players)
		}
	})
}

// playDuels plays duels between pairs of new players, all at the same time, and compares all
// frames with the rules.
func playDuels(t *testing.T, url string, pairs int) []*matchClient {
	t.Helper()
	rules := &checker.Checker{LimitMS: duelLimitMS}
	clients := make([]*matchClient, 2*pairs)
	for i := range clients {
		clients[i] = newDuelClient(t, url, "demo")
		clients[i].isStrict, clients[i].waitForSettled = true, true
		clients[i].plan = func(int) (right, silent bool) {
			time.Sleep(time.Duration(rand.N(30)) * time.Millisecond) // a player thinks
			return rand.N(2) == 0, false
		}
	}
	follow(rules, clients)
	var group errgroup.Group
	for _, c := range clients {
		group.Go(func() error {
			defer c.Close()
			if _, err := c.Send(protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}); err != nil {
				return err
			}
			return c.play()
		})
	}
	testenv.NoError(t, group.Wait())
	judge(t, rules)
	return clients
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

// checkStrictly returns an error if a frame reveals an answer too early, if a push comes before the reply
// to its cause, or if the server refuses something.
func (c *matchClient) checkStrictly(f checker.Frame) error {
	var seen protocol.AnswerSeen
	switch {
	case f.Type == protocol.TypeError:
		return fmt.Errorf("refused: %s", f.Raw)
	case f.Type != protocol.TypeQuestionClosed && revealsAnswer(f.Raw):
		return fmt.Errorf("the frame reveals an answer: %s", f.Raw)
	case f.Type != protocol.TypeAnswerSeen:
		return nil
	}
	if err := json.Unmarshal(f.Data, &seen); err != nil {
		return err
	}
	if seen.Player == c.id && !c.hasAnswered(seen.Question) {
		return fmt.Errorf("answer.seen came before the reply to the same answer: %s", f.Raw)
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
