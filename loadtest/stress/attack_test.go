package stress

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// attackerOf returns an attacker of a server, and a function that joins its violations.
func attackerOf(url string) (a *attacker, violations func() string) {
	a = newAttacker(attackOrder{Kind: "test", URL: url, Addresses: 1, For: time.Minute, Sockets: 1, PerSecond: 1000})
	return a, func() string { return strings.Join(a.result().Violations, "\n") }
}

// Answers that the contract does not allow are violations. All refusals are counted.
func TestBadAnswersAreViolations(t *testing.T) {
	t.Parallel()
	const problem, again = "application/problem+json", "Retry-After"
	for name, test := range map[string]struct {
		status            int
		kind, header      string
		body              string
		refusal, breaches string
	}{
		"served":            {200, "", "", "", "", ""},
		"not found":         {404, problem, "", "", "http 404", ""},
		"by the library":    {431, "text/plain", "", "", "bare 431", ""},
		"limited":           {429, problem, again, "", "http 429", ""},
		"limited for ever":  {429, problem, "", "", "http 429", "without a Retry-After"},
		"overloaded":        {503, problem, again, "", "http 503", ""},
		"an internal error": {500, problem, "", "", "http 500", "was answered with 500"},
		"a stack trace":     {400, problem, "", "goroutine 7", "http 400", "the inside of the server"},
	} {
		a, violations := attackerOf("")
		header := http.Header{"Content-Type": {test.kind}}
		if test.header != "" {
			header.Set(test.header, "1")
		}
		a.noteAnswer("GET /", "http ", players.Response{Status: test.status, Header: header, Body: []byte(test.body)})
		if counts := a.result().Counts; test.refusal != "" && counts[test.refusal] != 1 || test.refusal == "" && len(counts) > 0 {
			t.Errorf("%s: %+v", name, counts)
		}
		if got := violations(); !strings.Contains(got, test.breaches) || (got == "") != (test.breaches == "") {
			t.Errorf("%s: violations %q", name, got)
		}
	}
}

// More than the server may grant to an address is a violation.
func TestGrantsAreLimited(t *testing.T) {
	t.Parallel()
	for times, want := range map[int64]bool{60: false, 61: false, 62: true} { // a full bucket, and one more
		a, violations := attackerOf("")
		a.checkGranted("guests", times, 60, time.Minute)
		if got := violations() != ""; got != want {
			t.Errorf("%d: %t", times, got)
		}
	}
}

// A socket sends each frame as it is, and describes each answer.
func TestSocketSpeaksToAServer(t *testing.T) {
	t.Parallel()
	texts := []string{"a", pad(125), pad(126), pad(65_536)}
	url := testenv.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		for _, want := range texts {
			if _, got, err := conn.ReadMessage(); err != nil || string(got) != want {
				t.Errorf("%d bytes came as %d: %v", len(want), len(got), err)
			}
		}
		for _, text := range []string{`{"type":"pong"}`, `{"re":1,"type":"error","data":{"code":"bad_request"}}`} {
			_ = conn.WriteMessage(websocket.TextMessage, []byte(text))
		}
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4400, ""), time.Now().Add(time.Second))
	})
	a, _ := attackerOf(url)
	s := (&worker{a, t.Context(), 0}).open("")
	if s == nil {
		t.Fatalf("%+v", a.result())
	}
	defer s.Close()
	for _, text := range texts {
		if err := send(s.NetConn(), textFrame(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"pong", "error bad_request", "close 4400"} {
		if got := describe(s.Read(10 * time.Second)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A refusal without a retry time and an internal error are violations.
func TestBadRefusalsAreViolations(t *testing.T) {
	t.Parallel()
	for code, want := range map[protocol.Code]string{
		protocol.CodeBadRequest: "", protocol.CodeRateLimited: "without a retry time", protocol.CodeInternal: "was answered with",
	} {
		a, violations := attackerOf("")
		f := checker.Frame{Type: protocol.TypeError}
		f.Data, _ = json.Marshal(protocol.Error{Code: code})
		if !(&worker{a, t.Context(), 0}).noteFrame(f, nil) || a.result().Counts["error "+string(code)] != 1 {
			t.Errorf("%s: %+v", code, a.result())
		}
		if got := violations(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: violations %q", code, got)
		}
	}
}

// A slow client that the server does not cut off in time is a violation.
func TestASlowClientMustBeCutOff(t *testing.T) {
	t.Parallel()
	for name, cuts := range map[string]bool{"cut off": true, "never cut off": false} {
		ours, server := net.Pipe()
		a, violations := attackerOf("")
		c := slowClient{name: "a body", drip: "x", limit: 2 * dripInterval}
		go func() { // ends with the connection
			_, _ = server.Read(make([]byte, 1))
			if cuts {
				_ = server.Close()
			}
		}()
		w := &worker{a, t.Context(), 0}
		w.continueSlowly(c, ours, func() { w.readUntilClosed(ours) })
		_ = server.Close()
		if got := violations(); (got == "") != cuts {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Every attack has a name of its own, and every malformed input too.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	note := func(kind, name string) {
		if seen[kind+name] {
			t.Errorf("%s %q twice", kind, name)
		}
		seen[kind+name] = true
	}
	for _, name := range AttackKinds() {
		note("attack", name)
	}
	for _, m := range broken {
		note("frame", m.name)
	}
	for _, c := range badRequests() {
		note("request", c.name)
	}
	if _, err := runAttack(t.Context(), attackOrder{Kind: "nothing"}); err == nil {
		t.Error("an unknown attack runs")
	}
}
