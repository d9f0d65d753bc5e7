package main

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"laststand/internal/cli"
)

// After a duel each player reads the questions and the own answers over HTTP, as they were
// revealed during the match. Before, they must wait. A stranger gets nothing at any time.
func TestPlayersReadTheirAnswersOfASettledMatch(t *testing.T) {
	t.Parallel()
	node := startNode(t, cli.Flags{Data: ptr(t.TempDir()), Config: configFile(t, fastDuelsConfig)})
	duel := pairUp(t, newDuelClient(t, node.url, "demo"), newDuelClient(t, node.url, "demo")).waitForMatch(t)
	path := node.url + "/v1/games/demo/matches/" + duel[0].match + "/answers"
	stranger := newDeviceGuest(t, node.url, device)
	checkRefusals := func(refusals map[string]int) {
		t.Helper()
		for token, want := range refusals {
			if status, problem := requestJSON(t, "GET", path, token, nil); status != want {
				t.Errorf("%d %v, want %d", status, problem, want)
			}
		}
	}
	checkRefusals(map[string]int{stranger.Token: http.StatusForbidden, "": http.StatusUnauthorized, duel[0].Token: http.StatusServiceUnavailable})
	playToEnd(t, duel[:]...)
	for _, c := range duel {
		var answer map[string]any
		waitUntil(t, "the answers are stored", func() bool {
			var status int
			status, answer = requestJSON(t, "GET", path, c.Token, nil)
			return status == http.StatusOK
		})
		if got, want := answer["questions"], revealedAnswers(t, c); !reflect.DeepEqual(got, want) {
			t.Errorf("player %s: %v\nwant %v", c.id, got, want)
		}
	}
	checkRefusals(map[string]int{stranger.Token: http.StatusForbidden, "": http.StatusUnauthorized})
}

// revealedAnswers returns what a player has seen of the questions and the own answers, as
// decoded JSON.
func revealedAnswers(t *testing.T, c *matchClient) any {
	t.Helper()
	var all []map[string]any
	for i, closed := range c.closed {
		asked := c.asked[i]
		want := map[string]any{"question": asked.Question, "text": asked.Text, "kind": asked.Kind, "answer": closed.Answer}
		if asked.Choices != nil {
			want["choices"] = asked.Choices
		}
		if closed.Explanation != "" {
			want["explanation"] = closed.Explanation
		}
		for _, r := range closed.Results {
			if r.Player == c.id {
				want["given"], want["correct"], want["elapsed_ms"], want["points"] = r.Given, r.Correct, r.ElapsedMS, r.Points
			}
		}
		all = append(all, want)
	}
	encoded, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}
