package main

import (
	"net/http"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Redis stalls for 5 s during a duel. The server asks players to retry, and the node is not
// ready. Then the duel continues with every answer that was acknowledged.
func TestADuelContinuesAfterARedisStall(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	node := startNode(t, cli.Flags{Data: ptr(t.TempDir()), Redis: &server.URL, Config: configFile(t, slowDuelsConfig)})
	players, match := newPlayerPair(t, node.url)
	first := readPush[protocol.Question](t, players[0], protocol.TypeQuestion)
	readPush[protocol.Question](t, players[1], protocol.TypeQuestion)
	acknowledged := decodeAnswered(t, answer(t, players[0], match, first))

	server.Pause()
	stallEnd := time.After(5 * time.Second)
	if refused := decodeError(t, answer(t, players[1], match, first)); refused.Code != protocol.CodeUnavailable || refused.RetryAfterMS <= 0 {
		t.Errorf("while Redis stalls an answer gets %+v", refused)
	}
	if status := get(t, node.url+"/readyz", nil); status != http.StatusServiceUnavailable {
		t.Errorf("while Redis stalls /readyz returns %d", status)
	}
	if status := get(t, node.url+"/healthz", nil); status != http.StatusOK {
		t.Errorf("while Redis stalls /healthz returns %d", status)
	}
	<-stallEnd
	server.Resume()
	var late protocol.Answered
	waitUntil(t, "the answer is accepted", func() bool {
		f := answer(t, players[1], match, first)
		if f.Type == protocol.TypeAnswered {
			late = decodeAnswered(t, f)
		}
		return f.Type == protocol.TypeAnswered
	})
	waitUntil(t, "the node is ready again", func() bool { return get(t, node.url+"/readyz", nil) == http.StatusOK })

	closed := readPush[protocol.QuestionClosed](t, players[0], protocol.TypeQuestionClosed)
	for _, r := range closed.Results {
		want := map[string]int64{players[0].ID: acknowledged.ElapsedMS, players[1].ID: late.ElapsedMS}[r.Player]
		if r.ElapsedMS == nil || *r.ElapsedMS != want {
			t.Errorf("the close says %+v; %d ms were acknowledged", r, want)
		}
	}
	over := players.finishMatch(t, match, 1, 3)
	readPush[protocol.Settled](t, players[0], protocol.TypeSettled)
	checkProfiles(t, node.url, over)
}
