package webhook

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"laststand/docs"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

// contract is openapi.yaml. In the tests, objects allow no undeclared properties, so that the
// tests find undocumented fields.
type contract struct {
	root     any
	compiler *jsonschema.Compiler
}

func readContract(t *testing.T) contract {
	t.Helper()
	var parsed any
	testenv.NoError(t, yaml.Unmarshal(docs.OpenAPI, &parsed))
	encoded := testenv.Need(json.Marshal(parsed))(t)
	root := testenv.Need(jsonschema.UnmarshalJSON(bytes.NewReader(encoded)))(t)
	closeObjects(root)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	testenv.NoError(t, compiler.AddResource("openapi.json", root))
	return contract{root, compiler}
}

func closeObjects(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, open := n["additionalProperties"]; !open && n["type"] == "object" && n["properties"] != nil {
			n["additionalProperties"] = false
		}
		for _, child := range n {
			closeObjects(child)
		}
	case []any:
		for _, child := range n {
			closeObjects(child)
		}
	}
}

// check validates the body of an event against its schema in the section webhooks.
func (c contract) check(t *testing.T, eventType string, body any) {
	t.Helper()
	schema := testenv.Need(c.compiler.Compile("openapi.json#/webhooks/" + eventType + "/post/requestBody/content/application~1json/schema"))(t)
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s: %v\n%v", eventType, err, body)
	}
}

// example returns the example of an event, which the contract must have.
func (c contract) example(t *testing.T, eventType string) any {
	t.Helper()
	node := c.root
	for _, key := range []string{"webhooks", eventType, "post", "requestBody", "content", "application/json", "example"} {
		object, _ := node.(map[string]any)
		node = object[key]
	}
	if node == nil {
		t.Errorf("openapi.yaml has no example of %s", eventType)
	}
	return node
}

func TestContractDescribesEveryEvent(t *testing.T) {
	c := readContract(t)
	for _, eventType := range append(EventTypes(), Ping) {
		c.check(t, eventType, c.example(t, eventType))
	}
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		arena, draw := arenaResult(), duelResult()
		draw.Match, draw.Winner = "m_3", ""
		for _, result := range []*match.Result{duelResult(), arena, draw} {
			testenv.Need(w.Enqueue(t.Context(), w.registry.TasksForResult(result, eventTime)))(t)
		}
		corrected := arena.Summary()
		corrected.AddVoid(0)
		for range 2 { // a retried transaction reports the same event
			testenv.Need(w.Enqueue(t.Context(), w.registry.TasksForCorrection(corrected, 0, eventTime)))(t)
		}
		w.enqueueSealTask(t)
		testenv.Need(w.dispatcher.Ping(t.Context(), game, "a"))(t)
		time.Sleep(5 * time.Second)
		sent := map[string]int{}
		for _, post := range w.posts() {
			var body struct{ Type string }
			testenv.NoError(t, json.Unmarshal(post.Body, &body))
			decoded := testenv.Need(jsonschema.UnmarshalJSON(bytes.NewReader(post.Body)))(t)
			c.check(t, body.Type, decoded)
			sent[body.Type]++
		}
		if sent[MatchSettled] != 3 || sent[ArenaOver] != 1 || sent[MatchCorrected] != 1 || sent[DaySealed] != 1 || sent[Ping] != 1 {
			t.Errorf("sent %v", sent)
		}
	})
}

// arenaResult returns the result of a buzzer match of an arena with every field.
func arenaResult() *match.Result {
	r := duelResult()
	r.Match, r.ArenaID, r.Mode, r.Winner, r.CountsForLeaderboards = "m_2", "a_1", match.Buzzer, "red", true
	r.Teams = []match.TeamResult{{Rank: 1, ID: "red", Name: "Red", Score: 5}}
	r.Standings[0].Team = "red"
	return r
}
