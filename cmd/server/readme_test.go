package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// shortDuelsConfig is a configuration with duels that end within seconds, although the bot waits
// before its answers.
const shortDuelsConfig = `
games:
  demo:
    duel: {questions: 3, time_limit_ms: 1000, countdown_ms: 50, reveal_ms: 20}
`

// readmeExample returns the JavaScript of README.md, for a server at url.
func readmeExample(t *testing.T, url string) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```js\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("README.md has no example in JavaScript")
	}
	const address = "http://127.0.0.1:8080"
	if !strings.Contains(block, address) {
		t.Fatalf("the example of README.md does not connect to %s", address)
	}
	return strings.ReplaceAll(block, address, url)
}

// The example of README.md runs in the browser's console. It plays a whole duel against the bot
// and prints the standings.
func TestTheREADMEExamplePlaysADuel(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	node := startNode(t, cli{Config: configFile(t, shortDuelsConfig), Data: ptr(t.TempDir())})
	p := newBrowser(t, chromium).open(node.url)
	const captureTable = "console.table = (rows) => { window.standings = JSON.stringify(rows); };\n"
	run := "(async () => {\n" + captureTable + readmeExample(t, node.url) + "})(); ''"
	p.runSteps(chromedp.Evaluate[chromedp.Void](run))
	var standings []struct {
		Rank int  `json:"rank"`
		Bot  bool `json:"bot"`
	}
	waitUntil(t, "the example prints the standings", func() bool {
		ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
		defer cancel()
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("window.standings ?? ''"))
		if err != nil {
			t.Fatal(err)
		}
		return text != "" && json.Unmarshal([]byte(text), &standings) == nil
	})
	if len(standings) != 2 || standings[0].Rank != 1 {
		t.Errorf("standings %+v", standings)
	}
}
