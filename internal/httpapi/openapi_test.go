package httpapi

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"laststand/internal/answers"
	"laststand/internal/eventq"
	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

func TestEveryRouteIsInTheContractAndViceVersa(t *testing.T) {
	t.Parallel()
	served := map[string][]string{"GET " + websocketPath: nil}
	for _, r := range new(api).routes() {
		served[r.method+" "+r.path] = slices.Sorted(slices.Values(r.query))
	}
	inContract := map[string][]string{}
	paths, _ := openAPI().find("paths")
	for path, item := range paths.(map[string]any) {
		for method := range item.(map[string]any) {
			inContract[strings.ToUpper(method)+" "+path] = queryParameters(t, path, method)
		}
	}
	for _, route := range slices.Sorted(maps.Keys(served)) {
		params, ok := inContract[route]
		if !ok || !slices.Equal(params, served[route]) {
			t.Errorf("%s has the parameters %q; is it in openapi.yaml: %v, with %q", route, served[route], ok, params)
		}
		delete(inContract, route)
	}
	for route := range inContract {
		t.Errorf("%s is in openapi.yaml, but the server has no such route", route)
	}
}

// queryParameters returns the query parameters of an operation. It also checks that all
// path parameters are declared.
func queryParameters(t *testing.T, path, method string) []string {
	t.Helper()
	var query []string
	inPath := strings.Count(path, "{")
	list, _ := openAPI().find("paths", path, method, "parameters")
	params, _ := list.([]any)
	for _, p := range params {
		object := p.(map[string]any)
		if ref, ok := object["$ref"].(string); ok {
			resolved, _ := openAPI().find(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
			object = resolved.(map[string]any)
		}
		switch object["in"] {
		case "query":
			query = append(query, object["name"].(string))
		case "path":
			inPath--
			if !strings.Contains(path, "{"+object["name"].(string)+"}") {
				t.Errorf("%s has no %v", path, object["name"])
			}
		}
	}
	if inPath != 0 {
		t.Errorf("%s %s: %d parameters of the path are missing", method, path, inPath)
	}
	return slices.Sorted(slices.Values(query))
}

func TestEveryCodeIsInTheContractAndViceVersa(t *testing.T) {
	t.Parallel()
	listed, _ := openAPI().find("components", "schemas", "Problem", "properties", "code", "enum")
	var inContract []string
	for _, code := range listed.([]any) {
		inContract = append(inContract, code.(string))
	}
	var inCode []string
	for code := range httpserver.Statuses() {
		inCode = append(inCode, string(code))
	}
	if slices.Sort(inContract); !slices.Equal(inContract, slices.Sorted(slices.Values(inCode))) {
		t.Errorf("openapi.yaml has %q, the code has %q", inContract, inCode)
	}
}

func TestEveryReasonIsInTheContractAndViceVersa(t *testing.T) {
	t.Parallel()
	listed, _ := openAPI().find("components", "schemas", "Posted", "properties", "dropped", "propertyNames", "enum")
	var inContract []eventq.Reason
	for _, reason := range listed.([]any) {
		inContract = append(inContract, eventq.Reason(reason.(string)))
	}
	if !slices.Equal(inContract, eventq.Reasons()) {
		t.Errorf("openapi.yaml has %q, the code has %q", inContract, eventq.Reasons())
	}
}

func TestEveryStateOfATaskIsInTheContractAndViceVersa(t *testing.T) {
	t.Parallel()
	listed, _ := openAPI().find("components", "schemas", "TaskState", "enum")
	var inContract []taskqueue.State
	for _, state := range listed.([]any) {
		inContract = append(inContract, taskqueue.State(state.(string)))
	}
	if !slices.Equal(inContract, taskqueue.States()) {
		t.Errorf("openapi.yaml has %q, the code has %q", inContract, taskqueue.States())
	}
}

// Each response has the fields of its schema, and the same fields are optional.
func TestResponsesHaveTheFieldsOfTheContract(t *testing.T) {
	t.Parallel()
	for schema, answer := range map[string]any{
		"Guest": guestResponse{}, "NicknameCheck": nicknameResponse{}, "Profile": profile{}, "History": historyPage{},
		"Match": finishedMatch{}, "MatchStanding": protocol.OverStanding{}, "Health": health{},
		"ArenaMade": protocol.ArenaMade{}, "ArenaLook": protocol.ArenaLook{}, "HostedArenas": hostedArenas{}, "Report": answers.Report{}, "Voided": voided{}, "OwnAnswers": ownAnswers{}, "Problem": httpserver.Problem{},
		"Listing": leaderboard.Listing{}, "Page": leaderboard.Page{}, "Standing": leaderboard.Standing{},
		"Posted": eventq.PostResult{}, "Behaviour": eventq.Behaviour{},
		"Enqueued": enqueueResponse{}, "Claimed": claimResponse{}, "Lost": leasesResponse{}, "Task": taskView{},
	} {
		for _, fault := range openAPI().fieldErrors("/components/schemas/"+schema, answer) {
			t.Error(fault)
		}
	}
}

// All fields of request bodies are optional in Go, so the test compares only
// their names.
func TestBodiesHaveTheFieldsOfTheContract(t *testing.T) {
	t.Parallel()
	for schema, body := range map[string]any{
		"GuestRequest": guestBody{}, "NewVoid": newVoid{}, "NewArena": protocol.NewArena{}, "Team": protocol.ArenaTeam{}, "ArenaQuestions": protocol.ArenaQuestions{},
		"Behaviours": behavioursBody{}, "NewTasks": tasksBody{}, "NewTask": taskqueue.NewTask{}, "Claim": claimBody{}, "Renewal": renewBody{},
		"Leases": leasesBody{}, "Lease": taskqueue.Lease{}, "Failures": failBody{}, "FailedTask": failedTask{},
	} {
		node, _ := openAPI().find("components", "schemas", schema, "properties")
		inContract := slices.Sorted(maps.Keys(node.(map[string]any)))
		fields := map[string]reflect.Type{}
		collectFields(reflect.TypeOf(body), fields, new([]string))
		if inCode := slices.Sorted(maps.Keys(fields)); !slices.Equal(inContract, inCode) {
			t.Errorf("the body %s has the fields %q, in openapi.yaml %q", schema, inCode, inContract)
		}
	}
}

func TestExamplesOfTheContractAreValid(t *testing.T) {
	t.Parallel()
	n := openAPI().checkExamples(t, openAPI().root, "")
	if n < 10 {
		t.Errorf("%d examples were found", n)
	}
}
