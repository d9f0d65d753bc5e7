package stress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

func post(path, kind, body string, more ...string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: laststand\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s", path, kind, len(body), strings.Join(more, ""), body)
}

func get(path string, more ...string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: laststand\r\n" + strings.Join(more, "") + "\r\n")
}

const (
	guestsPath = "/v1/games/demo/guests"
	jsonType   = "application/json"
	device     = `"device":"0123456789012345678901"`
)

// badRequests returns requests that the server must not accept. want lists statuses; 429 is always
// allowed.
func badRequests() []malformed {
	service, _ := testenv.Token("service", "bad_service") // Sign never fails on texts
	asService := "Authorization: Bearer " + service + "\r\n"
	behaviours := "/v1/games/demo/behaviours"
	return []malformed{
		{"a header of 64 KiB", get("/healthz", "X-Long: "+pad(65_536)+"\r\n"), "431"},
		{"2,000 headers", get("/healthz", strings.Repeat("X-Many: 1\r\n", 2000)), "431,400"},
		{"a token of 12 KiB", get("/v1/games/demo/tasks/t_1", "Authorization: Bearer "+pad(12_000)+"\r\n"), "401,431"},
		{"a URL of 15 KiB", get("/v1/games/demo/nicknames/" + pad(15_000)), "414,422,431,400"},
		{"a query of 10 KiB", get("/v1/games/demo/leaderboards/all?players=" + pad(10_000)), "400,414,431"},
		{"1,000 parameters", get("/v1/games/demo/leaderboards/all?" + strings.Repeat("limit=1&", 1000) + "limit=1"), "400,414,431"},
		{"an unknown parameter", get("/v1/games/demo/leaderboards/all?sql=1"), "400"},
		{"a limit beyond integers", get("/v1/games/demo/leaderboards/all?limit=99999999999999999999"), "400"},
		{"a cursor of our own", get("/v1/games/demo/leaderboards/all?cursor=" + pad(500)), "400"},
		{"a date that is none", get("/v1/games/demo/leaderboards/day?date=2026-13-45"), "400"},
		{"a path that climbs", get("/v1/../../../etc/passwd"), "301,307,308,400,404"},
		{"a path that climbs, encoded", get("/v1/games/demo/nicknames/..%2f..%2fetc%2fpasswd"), "200,404,422,400"},
		{"NUL in a path", get("/v1/games/demo/players/p%00"), "400,404"},
		{"broken UTF-8 in a path", get("/v1/games/demo/nicknames/%ff%fe"), "422,400,404"},
		{"no game", get("/v1/games/" + pad(300) + "/leaderboards"), "404"},
		{"a method of nobody's", []byte("BREW /v1/games/demo/guests HTTP/1.1\r\nHost: laststand\r\n\r\n"), "405"},
		{"CONNECT", []byte("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"), "400,404,405"},
		{"a proxy's request", []byte("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"), "200,400,404"},
		{"HTTP/9.9", []byte("GET /healthz HTTP/9.9\r\nHost: laststand\r\n\r\n"), "400,505"},
		{"no HTTP", []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03hello\r\n\r\n"), "400"},
		{"PROXY v1 from whom nobody trusts", append([]byte("PROXY TCP4 203.0.113.7 127.0.0.1 1 2\r\n"), get("/healthz")...), "400"},
		{"no host", []byte("GET /healthz HTTP/1.1\r\n\r\n"), "400"},
		{"two hosts", []byte("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), "400"},
		{"a header with a space", get("/healthz", "X Bad: 1\r\n"), "400"},
		{"a folded header", get("/healthz", "X-Fold: 1\r\n\tfolded\r\n"), "200,400"},
		{"two lengths", []byte("POST " + guestsPath + " HTTP/1.1\r\nHost: laststand\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), "400"},
		{"a length below 0", []byte("POST " + guestsPath + " HTTP/1.1\r\nHost: laststand\r\nContent-Length: -1\r\n\r\n"), "400"},
		{"a length and chunks", []byte("POST " + guestsPath + " HTTP/1.1\r\nHost: laststand\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400"},
		{"a chunk of 2^64", []byte("POST " + guestsPath + " HTTP/1.1\r\nHost: laststand\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"), "400"},
		{"an unknown coding", []byte("POST " + guestsPath + " HTTP/1.1\r\nHost: laststand\r\nTransfer-Encoding: gzip\r\n\r\n"), "400,501"},
		{"1.5 MiB", post(guestsPath, jsonType, `{"device":"`+pad(1_500_000)+`"}`), "413"},
		{"a depth of 100,000", post(guestsPath, jsonType, `{"device":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}`), "400,413"},
		{"a depth in objects", post(guestsPath, jsonType, strings.Repeat(`{"device":`, 50_000)), "400,413"},
		{"100,000 fields", post(guestsPath, jsonType, `{`+device+strings.Repeat(`,"x":1`, 100_000)+`}`), "400,413"},
		{"a field twice", post(guestsPath, jsonType, `{`+device+`,"device":"9999999999999999999999"}`), "400,201,200,429"},
		{"an unknown field", post(guestsPath, jsonType, `{`+device+`,"admin":true}`), "400"},
		{"another case", post(guestsPath, jsonType, `{"Device":"0123456789012345678901"}`), "400"},
		{"a number for a text", post(guestsPath, jsonType, `{"device":1e400}`), "400"},
		{"broken UTF-8", post(guestsPath, jsonType, "{\"device\":\"\xff\xff\"}"), "400"},
		{"half of it", post(guestsPath, jsonType, `{"device":"0123`), "400"},
		{"nothing", post(guestsPath, jsonType, ``), "400"},
		{"a form", post(guestsPath, "application/x-www-form-urlencoded", `device=0123456789012345678901`), "415"},
		{"XML", post(guestsPath, "text/xml", `<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>`), "415"},
		{"no type", post(guestsPath, "", `{}`), "415"},
		{"a packed body", post(guestsPath, jsonType, "\x1f\x8b\x08\x00\x00\x00\x00\x00", "Content-Encoding: gzip\r\n"), "400,415"},
		{"a device of one letter", post(guestsPath, jsonType, `{"device":"a"}`), "400"},
		{"behaviours of nobody", post(behaviours, jsonType, `{"behaviours":[]}`), "401"},
		{"5 MiB of lines", post(behaviours, "application/x-ndjson", strings.Repeat("{}\n", 1_700_000), asService), "413"},
		{"a million empty lines", post(behaviours, "application/x-ndjson", strings.Repeat("\n", 1_000_000), asService), "400,202,413,429"},
		{"a million lines of one digit", post(behaviours, "application/x-ndjson", strings.Repeat("1\n", 1_000_000), asService), "400,413,429"},
		{"1,001 behaviours", post(behaviours, jsonType, `{"behaviours":[{}`+strings.Repeat(`,{}`, 1000)+`]}`, asService), "400,413,429"},
		{"one line of 3 MiB", post(behaviours, "application/x-ndjson", `{"id":"`+pad(3_000_000)+`"}`, asService), "202,400,413,429"},
		{"an arena of nobody", post("/v1/games/demo/arenas", jsonType, `{}`), "401"},
		{"tasks of a player", post("/v1/games/demo/tasks", jsonType, `{"tasks":[]}`), "401"},
	}
}

// sendMalformedRequests makes all malformed requests in turn.
func sendMalformedRequests(ctx context.Context, a *attacker) {
	requests := badRequests()
	a.repeat(ctx, 16, len(requests), func(w *worker, n int) { w.askBadly(requests[n%len(requests)]) })
}

// heavy is how many bytes count as one action. maxBody bounds how much of an answer is read.
const (
	heavy   = 64 << 10
	maxBody = 1 << 20
)

func (w *worker) askBadly(c malformed) {
	for range len(c.raw) / heavy { // a large one counts as several
		if w.pace.Wait(w.ctx) != nil {
			return
		}
	}
	conn := w.dial()
	if conn == nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(callTimeout)) // this cannot fail on an open connection
	_, _ = conn.Write(c.raw)                          // an answer may come before the write ends
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.lost("cut") // after a body that is too large, the answer may be lost
		return
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxBody)) // as much as there is
	w.noteAnswer(c.name, "http ", players.Response{Status: response.StatusCode, Header: response.Header, Body: body})
	w.violationIf(!c.allows(strconv.Itoa(response.StatusCode), "429"), "the request %q was answered with %d, and one of %s was due: %.200s", c.name, response.StatusCode, c.want, body)
}

// operatorsOnly maps paths of the operations listener to a text that proves that the
// server served them.
var operatorsOnly = map[string]string{
	"/metrics": "laststand_", "/debug/pprof/": "profile", "/debug/pprof/heap?debug=1": "heap profile", "/debug/pprof/cmdline": "--listen",
	"/debug/vars": "cmdline", "/admin/": "tasks", "/admin/v1/tasks": `"tasks"`, "/admin/v1/queues": `"queues"`, "/admin/v1/webhooks": `"webhooks"`,
	"/admin/v1/games/demo/queue/items": `"behaviours"`, "//admin/v1/tasks": `"tasks"`, "/v1/../admin/v1/tasks": `"tasks"`, "/v1/games/demo/../../../metrics": "laststand_",
	"/%61dmin/v1/tasks": `"tasks"`, "/Admin/v1/tasks": `"tasks"`, "/.env": "SECRET", "/.git/config": "[core]", "/load.yaml": "games:", "/load.key": "secret",
}

// asHosts are host headers that a careless server takes for its own.
var asHosts = []string{"", "127.0.0.1:8081", "localhost"}

// askForAdmin requests the operators' endpoints from both listeners. It does so without
// a token, as a player, and as an admin with a forged token.
func askForAdmin(ctx context.Context, a *attacker) {
	paths := slices.Sorted(maps.Keys(operatorsOnly))
	admin := object{"role": "admin", "game": nil, "sub": "root"}
	good := with(testenv.Claims("demo", "player", "bad_admin"), admin)
	byGame, _ := testenv.Sign(good) // texts and numbers always encode
	tokens := []string{"", a.token("bad_admin"), byGame, unsigned(headerOf("none", testenv.KeyID), good), signed(headerOf("HS256", "server"), good, []byte("admin"))}
	a.repeat(ctx, 16, len(paths)*len(tokens), func(w *worker, n int) {
		path, header := paths[n/len(tokens)%len(paths)], http.Header{"X-Forwarded-For": {"127.0.0.1"}, "X-Original-Url": {"/admin/v1/tasks"}}
		call := players.Call{URL: a.URL + path, Token: tokens[n%len(tokens)], Header: header, Host: asHosts[n%len(asHosts)]}
		got := w.ask(call)
		a.violationIf(got.Status == http.StatusOK && strings.Contains(string(got.Body), operatorsOnly[path]), "the players' address serves %s", path)
		if n%7 == 0 {
			w.askOperations(call)
		}
	})
}

// askOperations makes requests to the operations listener that need the role, with the token of
// another call.
func (w *worker) askOperations(as players.Call) {
	for _, c := range []players.Call{
		{URL: "/admin/v1/tasks"}, {URL: "/debug/pprof/heap"},
		{Method: "POST", URL: "/admin/v1/games/demo/queue/drain", Body: protocol.Empty{}}, {Method: "POST", URL: "/admin/v1/games/demo/leaderboards/rebuild"},
	} {
		c.URL, c.Token, c.Header = w.Ops+c.URL, as.Token, as.Header
		got := w.ask(c)
		w.violationIf(got.Status != 0 && got.Status < 400, "operations serve %s %s to a client that is no admin: %d", c.Method, c.URL, got.Status)
	}
}
