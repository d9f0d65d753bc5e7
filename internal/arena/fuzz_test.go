package arena

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"

	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
)

// FuzzArenaBody checks that a body is either refused with a message for its
// sender, or within every limit. An accepted body is accepted again unchanged.
func FuzzArenaBody(f *testing.F) {
	for _, seed := range []string{
		`{"mode":"buzzer","name":"Summer party","pace":"host","questions":{"count":3},"teams":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}`,
		`{"mode":"survival","name":" x ","pace":"auto","questions":{"ids":["q1","q2"]},"time_limit_ms":1000,"max_players":2,"ranked":true}`,
		`{"mode":"survival","name":"x","pace":"auto","questions":{"count":-1},"time_limit_ms":1e3}`,
		`{"mode":"buzzer","name":"\u0000","pace":"auto","questions":{"count":1,"ids":["q","q"]},"teams":[]}`,
		`{"mode":"buzzer","name":"a\u202eb","pace":"auto","questions":{"count":1},"teams":[{"id":"a","name":"\ufe0f❤️‍🔥"},{"id":"b","name":"f\u200duck"}]}`,
		`{"mode":"buzzer","mode":"x","name":null}`, `{"max_players":9223372036854775807}`, `[]`, ``,
	} {
		f.Add(seed)
	}
	words, err := nickname.NewWords(nickname.WordsConfig{Lists: nickname.BuiltinLists()})
	if err != nil {
		f.Fatal(err)
	}
	settings := GameSettings{LimitMS: 15_000, MaxPlayers: 500, Words: words}
	f.Fuzz(func(t *testing.T, text string) {
		var body protocol.NewArena
		err := protocol.Request{Type: "the body", Data: []byte(text)}.Decode(&body)
		var accepted protocol.NewArena
		if err == nil {
			accepted, err = checkBody(body, settings)
		}
		if refusal := (*protocol.Error)(nil); err != nil {
			if !errors.As(err, &refusal) || refusal.Code != protocol.CodeBadRequest || refusal.Message == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		checkWithinLimits(t, accepted)
		if recheckedBody, err := checkBody(accepted, settings); err != nil || !reflect.DeepEqual(recheckedBody, accepted) {
			t.Fatalf("first accepted as %+v, the second time as %+v, %v", accepted, recheckedBody, err)
		}
	})
}

func checkWithinLimits(t *testing.T, body protocol.NewArena) {
	t.Helper()
	if body.Mode != string(match.Buzzer) && body.Mode != string(match.Survival) || body.Name == "" || utf8.RuneCountInString(body.Name) > maxNameRunes ||
		*body.TimeLimitMS < minLimitMS || *body.TimeLimitMS > maxLimitMS || *body.MaxPlayers < minPlayers || *body.MaxPlayers > 500 ||
		body.Questions.Count < 1 || body.Questions.Count > maxQuestions || len(body.Teams) > maxTeams {
		t.Fatalf("an invalid body was accepted: %+v", body)
	}
	if _, err := json.Marshal(body); err != nil {
		t.Fatal(err)
	}
}
