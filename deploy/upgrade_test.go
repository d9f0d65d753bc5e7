package deploy_test

import (
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/stress"
)

// Nodes of a version that reads a new form of matches are replaced one by one, under play, by nodes
// of the next version. That one writes the new form and has migrated the tables. Then the nodes are
// replaced by the former version. `loadtest stress chaos -next` is the long version.
func TestVersionsPlayTogetherWhileNodesAreReplaced(t *testing.T) {
	t.Parallel()
	former, err := testenv.BuildServer(t.Context(), "", "rehearsal")
	if err != nil {
		t.Fatal(err)
	}
	next, err := testenv.BuildServer(t.Context(), "", "rehearsal_next")
	if err != nil {
		t.Fatal(err)
	}
	report, err := (&stress.Chaos{
		ClusterConfig: stress.ClusterConfig{Log: t.Logf, Server: former, Redis: testenv.Redis(t).URL, Database: testenv.Postgres(t).URL},
		Nodes:         3, Players: 30, Arenas: 6, For: 30 * time.Second, Seed: 11, Next: next,
	}).Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if len(report.Failures) > 0 {
		t.Errorf("%d failures", len(report.Failures))
	}
	for _, mode := range []string{"duel", "buzzer", "survival", "race"} {
		if report.Summary.Matches[mode] == 0 {
			t.Errorf("no %s was played", mode)
		}
	}
}
