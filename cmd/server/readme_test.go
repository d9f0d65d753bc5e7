package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// shortDuelsConfig is a configuration with duels that end within seconds, although the bot waits
// before its answers.
const shortDuelsConfig = `
games:
  demo:
    duel: {questions: 3, time_limit_ms: 1000, countdown_ms: 50, reveal_ms: 20}
`

// readmeExample returns the JavaScript of README.md.
func readmeExample(t *testing.T) string {
	t.Helper()
	text := testenv.Need(os.ReadFile("../../README.md"))(t)
	_, rest, found := strings.Cut(string(text), "```js\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("README.md has no example in JavaScript")
	}
	return block
}

// The example of README.md runs with Node.js, which has no page. Two copies play each other, and
// each ends when its result is on the leaderboards.
func TestTheREADMEExampleRunsTwiceWithNode(t *testing.T) {
	t.Parallel()
	node, ok := testenv.Interpreter(t, "node")
	if !ok {
		return
	}
	n := startNode(t, cli.Flags{Config: configFile(t, shortDuelsConfig), Data: ptr(t.TempDir())})
	const address = "http://127.0.0.1:8080"
	example := readmeExample(t)
	if !strings.Contains(example, address) {
		t.Fatalf("the example of README.md does not connect to %s", address)
	}
	program := filepath.Join(t.TempDir(), "duel.mjs")
	testenv.NoError(t, os.WriteFile(program, []byte(strings.ReplaceAll(example, address, n.url)), 0o600))
	var copies sync.WaitGroup
	for range 2 {
		copies.Go(func() {
			// Node.js 20 has websockets only with this option.
			out, err := exec.CommandContext(t.Context(), node, "--experimental-websocket", program).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "\nsettled ") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	copies.Wait()
	var page struct{ Total int }
	if status := get(t, n.url+"/v1/games/demo/leaderboards/all", &page); status != http.StatusOK || page.Total != 2 {
		t.Errorf("the leaderboard answers %d, %+v", status, page)
	}
}

// The example of README.md runs in the browser's console, at any address of the page. It plays a
// whole duel against the bot and prints the standings.
func TestTheREADMEExamplePlaysADuel(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	node := startNode(t, cli.Flags{Config: configFile(t, shortDuelsConfig), Data: ptr(t.TempDir())})
	p := newBrowser(t, chromium).open(strings.Replace(node.url, "127.0.0.1", "localhost", 1))
	const captureTable = "console.table = (rows) => { window.standings = JSON.stringify(rows); };\n"
	run := "(async () => {\n" + captureTable + readmeExample(t) + "})(); ''"
	p.runSteps(chromedp.Evaluate[chromedp.Void](run))
	var standings []struct {
		Rank int  `json:"rank"`
		Bot  bool `json:"bot"`
	}
	waitUntil(t, "the example prints the standings", func() bool {
		ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
		defer cancel()
		text := testenv.Need(chromedp.Run(ctx, chromedp.Evaluate[string]("window.standings ?? ''")))(t)
		return text != "" && json.Unmarshal([]byte(text), &standings) == nil
	})
	if len(standings) != 2 || standings[0].Rank != 1 {
		t.Errorf("standings %+v", standings)
	}
}
