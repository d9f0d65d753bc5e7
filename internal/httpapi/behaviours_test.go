package httpapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"laststand/internal/eventq"
	"laststand/internal/protocol"
)

const (
	demoBehavioursPath = demoPath + "/behaviours"
	bearerService      = "Authorization: Bearer service"
	onlineJSON         = `{"id":"b_1","type":"online","at":1795212345678,"account":"guest"}`
)

// repeatBehaviour returns a JSON body with n copies of an element.
func repeatBehaviour(count int, element string) string {
	return `{"behaviours":[` + strings.TrimSuffix(strings.Repeat(element+",", count), ",") + `]}`
}

// behavioursCallOfType is a call of a service with a body of this content type.
func behavioursCallOfType(body, contentType string) call {
	return call{"POST", demoBehavioursPath, body, []string{bearerService, "Content-Type: " + contentType}}
}

// The handler passes on each behaviour as it was sent, and nothing else.
func TestBehavioursArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	post := func(body string) call { return jsonCall("POST", demoBehavioursPath, body, bearerService) }
	lines := func(body string) call { return behavioursCallOfType(body, ndjsonType) }
	long := `{"data":"` + strings.Repeat("x", 3000) + `"}`
	for name, tt := range map[string]struct {
		call   call
		want   []string
		answer string
	}{
		"one behaviour":             {post(repeatBehaviour(1, onlineJSON)), []string{onlineJSON}, `{"accepted":1,"dropped":{}}`},
		"charset":                   {call{"POST", demoBehavioursPath, repeatBehaviour(1, onlineJSON), []string{bearerService, "Content-Type: application/json;charset=UTF-8"}}, []string{onlineJSON}, `{"accepted":1,`},
		"items that are no objects": {post(`{"behaviours":[7,null,"x",[],` + onlineJSON + `,true]}`), []string{"7", "null", `"x"`, "[]", onlineJSON, "true"}, `{"accepted":1,"dropped":{"invalid":5}}`},
		"an empty object":           {post(repeatBehaviour(1, "{}")), []string{"{}"}, `{"accepted":1,`},
		"1000":                      {post(repeatBehaviour(1000, "{}")), slices.Repeat([]string{"{}"}, 1000), `{"accepted":1000,`},
		"one line":                  {lines(onlineJSON), []string{onlineJSON}, `{"accepted":1,"dropped":{}}`},
		"lines":                     {lines("{\"a\":1}\n{\"b\":2}\n"), []string{`{"a":1}`, `{"b":2}`}, `{"accepted":2,`},
		"lines that end in CR LF":   {lines("{\"a\":1}\r\n{\"b\":2}\r\n"), []string{`{"a":1}`, `{"b":2}`}, `{"accepted":2,`},
		"blank lines":               {lines("\n \t\r\n{\"a\":1}\n\n  {\"b\":2}  \n\n"), []string{`{"a":1}`, `{"b":2}`}, `{"accepted":2,`},
		"lines that are no objects": {lines("{\n7\n{}}\nnull\n{\"a\":1}"), []string{"{", "7", "{}}", "null", `{"a":1}`}, `{"accepted":1,"dropped":{"invalid":4}}`},
		"an envelope is no line":    {lines(`["x"]`), []string{`["x"]`}, `{"accepted":0,"dropped":{"invalid":1}}`},
		"a line too long by itself": {lines(long + "\n{}"), []string{long, "{}"}, `{"accepted":2,`},
		"NDJSON with a charset":     {behavioursCallOfType("{}", "application/x-ndjson; charset=utf-8"), []string{"{}"}, `{"accepted":1,`},
		"1000 lines":                {lines(strings.Repeat("\n{}\n", 1000)), slices.Repeat([]string{"{}"}, 1000), `{"accepted":1000,`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &fakeBackend{}
			rec := serve(t, New(newTestConfig(w)), tt.call)
			var got []string
			for _, body := range w.posts {
				got = append(got, string(body))
			}
			if rec.Code != 202 || !strings.HasPrefix(rec.Body.String(), tt.answer) || !slices.Equal(got, tt.want) {
				t.Errorf("%d %s, passed on %q", rec.Code, rec.Body, got)
			}
		})
	}
}

// A stopping node accepts no behaviours, because its queues may end with it.
func TestADrainingNodeRefusesBehaviours(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	c := newTestConfig(backend)
	c.IsDraining = func() bool { return true }
	rec := serve(t, New(c), jsonCall("POST", demoBehavioursPath, repeatBehaviour(1, onlineJSON), bearerService))
	if rec.Code != 503 || rec.Header().Get("Retry-After") == "" || len(backend.posts) > 0 {
		t.Errorf("%d %s, passed on %d", rec.Code, rec.Body, len(backend.posts))
	}
}

// The handler refuses a call as a whole and queues nothing of it.
func TestInvalidCallsOfBehavioursAreRefused(t *testing.T) {
	t.Parallel()
	post := func(body string) call { return jsonCall("POST", demoBehavioursPath, body, bearerService) }
	lines := func(body string) call { return behavioursCallOfType(body, ndjsonType) }
	tooLarge := `{"behaviours":[{"data":"` + strings.Repeat("x", maxBehavioursBody) + `"}]}`
	checkRefusals(t, map[string]refusal{
		"no token":                 {jsonCall("POST", demoBehavioursPath, repeatBehaviour(1, onlineJSON)), 401, protocol.CodeUnauthorized, "Bearer"},
		"token of a player":        {jsonCall("POST", demoBehavioursPath, repeatBehaviour(1, onlineJSON), bearerGood), 403, protocol.CodeForbidden, "services"},
		"token of a host":          {jsonCall("POST", demoBehavioursPath, repeatBehaviour(1, onlineJSON), "Authorization: Bearer host"), 403, protocol.CodeForbidden, "services"},
		"token of another game":    {jsonCall("POST", demoBehavioursPath, repeatBehaviour(1, onlineJSON), "Authorization: Bearer foreign"), 403, protocol.CodeForbidden, "another game"},
		"unknown game":             {jsonCall("POST", "/v1/games/nowhere/behaviours", repeatBehaviour(1, onlineJSON), bearerService), 404, protocol.CodeNotFound, "no such game"},
		"a parameter":              {jsonCall("POST", demoBehavioursPath+"?wait=1", repeatBehaviour(1, onlineJSON), bearerService), 400, protocol.CodeBadRequest, `"wait"`},
		"another method":           {getCall(demoBehavioursPath), 405, protocol.CodeBadRequest, "POST"},
		"no content type":          {call{"POST", demoBehavioursPath, repeatBehaviour(1, onlineJSON), []string{bearerService}}, 415, protocol.CodeBadRequest, "application/x-ndjson"},
		"text":                     {behavioursCallOfType(onlineJSON, "text/plain"), 415, protocol.CodeBadRequest, "application/json"},
		"a malformed content type": {behavioursCallOfType(onlineJSON, "application/x-ndjson; ="), 415, protocol.CodeBadRequest, "application/json"},
		"no behaviour":             {post(repeatBehaviour(0, "")), 400, protocol.CodeBadRequest, "1 to 1000"},
		"1001":                     {post(repeatBehaviour(1001, "{}")), 400, protocol.CodeBadRequest, "1 to 1000"},
		"many behaviours":          {post(repeatBehaviour(100_000, "1")), 400, protocol.CodeBadRequest, "1 to 1000"},
		"no line":                  {lines("\n\r\n  \n"), 400, protocol.CodeBadRequest, "1 to 1000"},
		"an empty body of lines":   {lines(""), 400, protocol.CodeBadRequest, "1 to 1000"},
		"1001 lines":               {lines(strings.Repeat("{}\n", 1001)), 400, protocol.CodeBadRequest, "1 to 1000"},
		"no list":                  {post(`{}`), 400, protocol.CodeBadRequest, `"behaviours"`},
		"null":                     {post(`{"behaviours":null}`), 400, protocol.CodeBadRequest, `"behaviours"`},
		"an object for the list":   {post(`{"behaviours":{}}`), 400, protocol.CodeBadRequest, `"behaviours"`},
		"a field beside the list":  {post(`{"behaviours":[{}],"game":"demo"}`), 400, protocol.CodeBadRequest, `"game"`},
		"a bare list":              {post(`[` + onlineJSON + `]`), 400, protocol.CodeBadRequest, "JSON object"},
		"broken JSON":              {post(`{"behaviours":[{]}`), 400, protocol.CodeBadRequest, "JSON object"},
		"lines as JSON":            {post(onlineJSON + "\n" + onlineJSON), 400, protocol.CodeBadRequest, "JSON object"},
		"broken UTF-8":             {lines("{\"a\":\"\xff\"}"), 400, protocol.CodeBadRequest, "UTF-8"},
		"too large":                {post(tooLarge), 413, protocol.CodePayloadTooLarge, "4194304"},
		"lines too large":          {lines(tooLarge), 413, protocol.CodePayloadTooLarge, "4194304"},
	})
}

// The handler reads a body of the maximal size completely.
func TestTheLargestBodyOfBehavioursIsRead(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	line := `{"data":"` + strings.Repeat("x", 4000) + `"}` + "\n"
	body := strings.Repeat(line, 1000)
	body += strings.Repeat(" ", maxBehavioursBody-len(body))
	if rec := serve(t, New(newTestConfig(backend)), behavioursCallOfType(body, ndjsonType)); rec.Code != 202 || len(backend.posts) != 1000 {
		t.Errorf("%d %s, passed on %d", rec.Code, rec.Body, len(backend.posts))
	}
}

func TestAFullQueueOfBehavioursIsReported(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]protocol.Code{eventq.ErrFull: protocol.CodeOverloaded, errStore: protocol.CodeUnavailable} {
		rec := serve(t, New(newTestConfig(&fakeBackend{fail: err})), jsonCall("POST", demoBehavioursPath, repeatBehaviour(1, onlineJSON), bearerService))
		if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != 503 || p.Code != want || rec.Header().Get("Retry-After") != "2" {
			t.Errorf("%v: %d %s, Retry-After %q", err, rec.Code, rec.Body, rec.Header().Get("Retry-After"))
		}
	}
}

// FuzzLines checks that the handler passes on every line of an NDJSON body that
// is not blank, in order and without a line feed.
func FuzzLines(f *testing.F) {
	for _, body := range []string{"", "{}", "{}\n\n{}", "a\r\nb", "\n \n", "\x00", strings.Repeat("x\n", 1002)} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var want []string
		for _, line := range strings.Split(body, "\n") {
			if line = strings.TrimSpace(line); line != "" && len(want) <= maxBehaviours {
				want = append(want, line)
			}
		}
		found := splitLines([]byte(body))
		if !slices.EqualFunc(found, want, func(a json.RawMessage, b string) bool { return string(a) == b }) {
			t.Errorf("%q: %q; want %q", body, found, want)
		}
	})
}
