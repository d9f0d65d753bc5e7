package deploy_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
	"laststand/loadtest/stress"
)

// forEachProxy runs a test with each proxy that is installed. Only one runs at a time, because
// they need a processor each.
func forEachProxy(t *testing.T, test func(t *testing.T, proxy string)) {
	t.Helper()
	t.Parallel()
	for _, proxy := range testenv.Proxies {
		t.Run(proxy, func(t *testing.T) {
			if testenv.HasProxy(t, proxy) {
				test(t, proxy)
			}
		})
	}
}

// Players play duels and arenas through the proxy while a node behind it drains and comes back.
// `loadtest stress chaos -proxy` is the long version.
func TestPlayersPlayThroughProxiesWhileANodeDrains(t *testing.T) {
	binary := buildServer(t)
	forEachProxy(t, func(t *testing.T, proxy string) {
		report, err := (&stress.Chaos{
			ClusterConfig: stress.ClusterConfig{Log: t.Logf, Server: binary, Redis: testenv.Redis(t).URL, Database: testenv.Postgres(t).URL},
			Nodes:         2, Proxy: proxy, Players: 20, Arenas: 3, Drains: 1, For: 4 * time.Second, Seed: 7,
		}).Play(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Log(report)
		if len(report.Failures) > 0 || report.Summary.Matches["duel"] == 0 || report.Summary.Matches["race"] == 0 {
			t.Errorf("%d failures, %v matches", len(report.Failures), report.Summary.Matches)
		}
	})
}

// A node behind a proxy knows the address and the scheme that a player uses.
func TestProxiesPassTheAddressAndSchemeOfPlayers(t *testing.T) {
	binary := buildServer(t)
	forEachProxy(t, func(t *testing.T, proxy string) {
		nodes, err := testenv.StartNodes(t.Context(), testenv.NodeOptions{Count: 1, Binary: binary, Proxy: proxy, Settings: "games: {demo: {" + testenv.KeysYAML + "}}\nlimits: {connections_per_address: 1}\n"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nodes.Stop() })
		url := nodes.URLs()[0]
		connect(t, url, "127.0.0.5", 0)
		connect(t, url, "127.0.0.5", protocol.CloseOverloaded)
		connect(t, url, "127.0.0.6", 0)
		token, err := testenv.Token("host", "teacher")
		if err != nil {
			t.Fatal(err)
		}
		made, err := players.CreateArena(t.Context(), url, "demo", token, protocol.NewArena{Name: "Quiz night", Mode: "race", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 3, Lang: "en"}})
		if err != nil || !strings.HasPrefix(made.JoinURL, url+"/g/demo/join/") {
			t.Errorf("the players' link is %q (%v), want one that starts with %s", made.JoinURL, err, url)
		}
	})
}

// connect connects a guest from an address. It expects that the node closes the websocket with a
// code; 0: it stays open until the end of the test.
func connect(t *testing.T, server, from string, wantCode int) {
	t.Helper()
	guest, err := players.CreateGuest(t.Context(), server, "demo", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	player, err := players.Dialer{LocalDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}}.Connect(ctx, server, guest, nil)
	code := 0
	if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
		code = closed.Code
	} else if err != nil {
		t.Fatal(err)
	}
	if code != wantCode {
		t.Errorf("a player from %s: closed %d, want %d", from, code, wantCode)
	}
	if err == nil {
		t.Cleanup(func() { _ = player.Close() })
	}
}

func buildServer(t *testing.T) string {
	t.Helper()
	binary, err := testenv.BuildServer(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
