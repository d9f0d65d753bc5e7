package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// secret marks values that must not be in the log, in an answer or in a metric.
const secret = "s3cret"

// The server never shows a secret, whatever is wrong with it: tokens, devices, passwords and
// queries of receivers' addresses.
func TestErrorsNeverShowSecrets(t *testing.T) {
	t.Parallel()
	unusedAddress := freeAddress(t)
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, fmt.Sprintf(`
games:
  demo:
    webhooks: [{name: hook, url: "http://user:%[1]spassword@%[2]s/%[1]spath?key=%[1]squery", allow_private: true}]
    behaviours: {report: [], sink: {type: webhook, url: "http://user:%[1]spassword@%[2]s/%[1]spath?key=%[1]squery", allow_private: true}}
`, secret, unusedAddress))})
	device := secret + "DeviceOfSomebody_123"
	const guests, me = "/v1/games/demo/guests", "/v1/games/demo/players/me"
	for _, r := range []struct{ method, url, bearer, body string }{
		{"POST", node.url + guests, "", `{"device":"` + device + `"}`},
		{"POST", node.url + guests, "", `{"device":"` + device + `"}`},
		{"POST", node.url + guests, "", `{"device":"` + secret + `"}`},
		{"POST", node.url + guests, "", `{"device":["` + device + `"]}`},
		{"POST", node.url + guests, "", `{"device":"` + device + `",}`},
		{"POST", node.url + guests, "", `{"device":"` + device + `","nickname":"` + strings.Repeat("x", 99) + `"}`},
		{"POST", node.url + guests, secret, `{"device":"` + device + `"`},
		{"PUT", node.url + me + "/nickname", secret, `{"nickname":"Ada"}`},
		{"PUT", node.url + me + "/nickname", secret + ".e30." + secret, `{"nickname":"Ada"}`},
		{"PUT", node.url + me + "/account", "e30.e30.e30", `{"token":"` + secret + `.a.b"}`},
		{"DELETE", node.url + me, "eyJhbGciOiJub25lIn0." + secret + ".", ""},
		{"GET", node.url + "/v1/games/demo/leaderboards/all?token=1", secret, ""},
		{"GET", node.url + "/v1/none", secret, ""},
		{"POST", node.url + "/v1/games/demo/behaviours", secret, `{"behaviours":[]}`},
		{"GET", node.opsURL + "/admin/v1/webhooks", secret, ""},
		{"GET", node.opsURL + "/debug/pprof/heap", secret, ""},
	} {
		checkNoSecret(t, r.method+" "+r.url, send(t, r.method, r.url, r.bearer, r.body).String())
	}
	token := node.token(t, "admin", "ops")
	for _, path := range []string{"GET /webhooks", "POST /games/demo/webhooks/hook/ping", "GET /webhooks", "GET /games/demo/queue", "GET /tasks", "GET /keys", "GET /games/demo/keys", "GET /audit-log"} {
		method, rest, _ := strings.Cut(path, " ")
		checkNoSecret(t, path, send(t, method, node.opsURL+"/admin/v1"+rest, token, nil).String())
	}
	conn, answer, err := (&websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}}).Dial("ws"+strings.TrimPrefix(node.url, "http")+"/v1/ws?token="+secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = answer.Body.Close()
	testenv.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte(`{"id":1,"type":"hello","data":{"token":"`+secret+`"}}`)))
	_, text, err := conn.ReadMessage()
	checkNoSecret(t, "hello", fmt.Sprintf("%s %v", text, err))
	checkNoSecret(t, "the metrics", metrics(t, node.opsURL))
	node.stop()
	checkNoSecret(t, "the log", node.log.String())
}

func checkNoSecret(t *testing.T, source, text string) {
	t.Helper()
	if strings.Contains(text, secret) {
		t.Errorf("%s shows the secret: %s", source, text)
	}
}
