package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"laststand/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// correctServer is a server that accepts no second answer.
func correctServer(t *testing.T) string {
	t.Helper()
	upgrader := websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/ws", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
			_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"re":1,"type":"error","data":{"code":"duplicate_answer","message":"no","accepted":{"choice":1}}}`))
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"score":9,"explain":{"parts":[{"value":9}]}}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// Server and k6 notice the proxy between them only by the changed messages.
func TestProxyChangesOnlyMessages(t *testing.T) {
	t.Parallel()
	url, stop, err := startFaultyProxy(t.Context(), correctServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}}
	conn, answer, err := dialer.DialContext(t.Context(), strings.Replace(url, "http", "ws", 1)+"/v1/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	defer conn.Close()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	_, output, err := conn.ReadMessage()
	if want := `{"re":1,"type":"answered","data":{"question":0,"at":1,"elapsed_ms":1}}`; err != nil || string(output) != want {
		t.Errorf("%s, %v, want %s", output, err, want)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/games/demo/leaderboards/all/p", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if want := `{"score":10,"explain":{"parts":[{"value":10}]}}`; err != nil || string(body) != want {
		t.Errorf("%s, %v, want %s", body, err, want)
	}
}

func TestBrokenRulesAreFoundOrMissed(t *testing.T) {
	t.Parallel()
	ruleCounts, err := readRules([]byte(`{"metrics":{"checks":{"passes":3,"fails":2},` +
		`"checks{rule:seq}":{"passes":3,"fails":0,"thresholds":{"rate==1":false},"value":1},"checks{rule:page}":{"passes":1,"fails":2}}}`))
	if want := map[string]checkCount{"seq": {3, 0}, "page": {1, 2}}; err != nil || !reflect.DeepEqual(ruleCounts, want) {
		t.Fatalf("%v, %v, want %v", ruleCounts, err, want)
	}
	found, missed := brokenRules(ruleCounts)
	if !reflect.DeepEqual(found, []string{"page"}) || !reflect.DeepEqual(missed, []string{"seq"}) {
		t.Errorf("found %v, missed %v", found, missed)
	}
	if _, missed := brokenRules(nil); len(missed) == 0 {
		t.Error("no rule was checked, and no rule is missed")
	}
}
