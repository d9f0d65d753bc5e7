package main

import (
	"encoding/json"
	"strings"
	"testing"

	"laststand/internal/config"
	"laststand/internal/ledger"
	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

// Questions that are reserved for hosts are neither in duels nor in players' arenas. A player
// cannot get them by the bank's name, by an id or by a filter.
func TestOnlyHostsUseHostBanks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := testenv.SQL{Dir: dir}
	bankCommand(t, db, "import", "--bank=mine", questionFile(t, "fr", 3))
	bankCommand(t, db, "import", "--bank=final", questionFile(t, "de", 3))
	var final struct{ Questions []quiz.Question }
	code, out, stderr := command("bank", "--data="+dir, "export", "final")
	if err := json.Unmarshal([]byte(out), &final); code != 0 || err != nil || len(final.Questions) != 3 {
		t.Fatalf("bank export: %d, %v, %s", code, err, stderr)
	}
	opened := openConfiguredBanks(t, dir, "games: {demo: {banks: [mine], host_banks: [final], duel: {questions: 3}}}")
	duels := quiz.Source{Game: "demo"}
	if opened.Count(duels, quiz.Filter{Lang: "de"}) != 0 || opened.Count(duels, quiz.Filter{}) != 3 {
		t.Error("duels draw questions from the bank of hosts")
	}
	ids := []string{final.Questions[0].ID}
	for _, isHost := range []bool{false, true} {
		want := 0
		if isHost {
			want = 3
		}
		byBank := opened.Count(quiz.Source{Game: "demo", Bank: "final", ForHost: isHost}, quiz.Filter{})
		byLang := opened.Count(quiz.Source{Game: "demo", ForHost: isHost}, quiz.Filter{Lang: "de"})
		if byBank != want || byLang != want {
			t.Errorf("host %v: %d questions of the bank, %d in its language, want %d", isHost, byBank, byLang, want)
		}
		for _, name := range []string{"", "final"} {
			if _, err := opened.Pick(quiz.Source{Game: "demo", Bank: name, ForHost: isHost}, ids); (err == nil) != isHost {
				t.Errorf("by id from %q, host %v: %v", name, isHost, err)
			}
		}
	}
	if _, err := opened.Pick(quiz.Source{Game: "demo", Bank: "mine", ForHost: true}, ids); err == nil {
		t.Error("a question was picked from a bank that does not have it")
	}
}

// openConfiguredBanks opens the banks of a configuration.
func openConfiguredBanks(t *testing.T, dir, text string) *quiz.Library {
	t.Helper()
	c := testenv.Need(config.Read(configFile(t, text)))(t)
	c.Data = dir
	store := testenv.Need(ledger.Open(t.Context(), c.Ledger(discardLog())))(t)
	t.Cleanup(func() { _ = store.Close() })
	opened, err := (&node{config: c, ledger: store, log: discardLog()}).openBanks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// A bank is public or reserved for hosts, not both.
func TestABankMustNotBeInBothLists(t *testing.T) {
	t.Parallel()
	code, _, stderr := command("config", "--config="+configFile(t, "games: {demo: {banks: [builtin], host_banks: [builtin]}}"))
	if code == 0 || !strings.Contains(stderr, "games.demo.host_banks") {
		t.Errorf("ended with %d: %s", code, stderr)
	}
}
