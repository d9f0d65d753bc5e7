package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/quiz"
)

// fakeArenaStore has questions for every filter, and every code is free.
type fakeArenaStore struct {
	arena.Matches
	arena.Codes
	arena.Records
}

func (fakeArenaStore) CheckOverload() error                           { return nil }
func (fakeArenaStore) CreateArena(context.Context, *match.Plan) error { return nil }
func (fakeArenaStore) AddArena(context.Context, arena.Record) error   { return nil }
func (fakeArenaStore) ClaimCode(context.Context, string, string, string) (bool, error) {
	return true, nil
}
func (fakeArenaStore) Count(quiz.Source, quiz.Filter) int { return 1000 }
func (fakeArenaStore) Draw(_ quiz.Source, _ quiz.Filter, count int, _ func(string) bool) ([]quiz.DrawnQuestion, error) {
	return make([]quiz.DrawnQuestion, count), nil
}
func (fakeArenaStore) Pick(_ quiz.Source, ids []string) ([]quiz.DrawnQuestion, error) {
	return make([]quiz.DrawnQuestion, len(ids)), nil
}

// arenaBody returns the body of a request for an arena with some fields replaced. Fields that are
// null are left out.
func arenaBody(t *testing.T, fields string) string {
	t.Helper()
	object := map[string]any{"mode": "survival", "name": "Cup", "questions": map[string]any{"count": 1}, "pace": "auto"}
	if err := json.Unmarshal([]byte(fields), &object); err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	for name, value := range object {
		if value == nil {
			delete(object, name)
		}
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// jsonList writes a JSON list of length elements. Each # in element becomes the index.
func jsonList(length int, element string) string {
	elements := make([]string, length)
	for i := range elements {
		elements[i] = strings.ReplaceAll(element, "#", fmt.Sprint(i))
	}
	return "[" + strings.Join(elements, ",") + "]"
}

// The service and the contract accept the same values on both sides of every
// limit.
func TestArenasAreAcceptedAsTheContractSays(t *testing.T) {
	t.Parallel()
	store := fakeArenaStore{}
	c := newTestConfig(&fakeBackend{})
	c.Arenas = arena.New(arena.Config{
		Games:   map[string]arena.GameSettings{"demo": {PlayersMayHost: true, LimitMS: 15_000, MaxPlayers: 100_000}},
		Matches: store, Records: store, Codes: store, Bank: store, Logger: slog.New(slog.DiscardHandler),
	})
	h := New(c)
	team, longName := `{"id":"t#","name":"T"}`, strings.Repeat("é", 64)
	for fields, isValid := range map[string]bool{
		`{}`:                true,
		`{"mode":"buzzer"}`: true, `{"mode":"duel"}`: false, `{"mode":null}`: false,
		`{"pace":"host"}`: true, `{"pace":"slow"}`: false, `{"pace":null}`: false,
		`{"name":"` + longName + `"}`: true, `{"name":"` + longName + `e"}`: false, `{"name":"  ` + longName + `  "}`: true,
		`{"name":"C"}`: true, `{"name":""}`: false, `{"name":" "}`: false, `{"name":"a b"}`: true, `{"name":"a\tb"}`: false,
		`{"name":"\u0000"}`: false, `{"name":"\na\n"}`: true, `{"name":null}`: false,
		`{"teams":[]}`: true, `{"teams":` + jsonList(1, team) + `}`: false, `{"teams":` + jsonList(2, team) + `}`: true,
		`{"teams":` + jsonList(64, team) + `}`: true, `{"teams":` + jsonList(65, team) + `}`: false,
		`{"teams":` + jsonList(2, `{"id":"`+strings.Repeat("x", 63)+`#","name":"T"}`) + `}`: true,
		`{"teams":` + jsonList(2, `{"id":"`+strings.Repeat("x", 64)+`#","name":"T"}`) + `}`: false,
		`{"teams":` + jsonList(2, `{"id":"a b#","name":"T"}`) + `}`:                         false,
		`{"teams":` + jsonList(2, `{"id":"t#","name":""}`) + `}`:                            false,
		`{"time_limit_ms":999}`: false, `{"time_limit_ms":1000}`: true, `{"time_limit_ms":600000}`: true, `{"time_limit_ms":600001}`: false,
		`{"max_players":1}`: false, `{"max_players":2}`: true, `{"max_players":100000}`: true, `{"max_players":100001}`: false,
		`{"questions":{}}`: false, `{"questions":null}`: false,
		`{"questions":{"count":0}}`: false, `{"questions":{"count":100}}`: true, `{"questions":{"count":101}}`: false,
		`{"questions":{"ids":[]}}`: false, `{"questions":{"ids":["a","b"]}}`: true, `{"questions":{"ids":["a","a"]}}`: false,
		`{"questions":{"count":2,"ids":["a","b"]}}`: true, `{"questions":{"count":1,"ids":[]}}`: true,
		`{"questions":{"ids":` + jsonList(100, `"q#"`) + `}}`: true, `{"questions":{"ids":` + jsonList(101, `"q#"`) + `}}`: false,
		`{"questions":{"ids":["a"],"lang":"en"}}`: false, `{"questions":{"ids":["a"],"category":"x"}}`: false,
		`{"questions":{"ids":["a"],"difficulty":"easy"}}`: false, `{"questions":{"ids":["a"],"bank":"builtin"}}`: true,
		`{"questions":{"count":1,"lang":"en","category":"x","difficulty":"easy"}}`: true,
	} {
		arenaJSON := arenaBody(t, fields)
		rec := serve(t, h, jsonCall("POST", demoPath+"/arenas", arenaJSON, bearerGood))
		if isValid != (rec.Code == 201) || !isValid && rec.Code != 400 {
			t.Errorf("%.100s: %d %s", fields, rec.Code, rec.Body)
		}
		if err := openAPI().validate("/components/schemas/NewArena", []byte(arenaJSON)); isValid != (err == nil) {
			t.Errorf("%.100s by the contract: %v", fields, err)
		}
	}
}
