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
	report, err := stress.Chaos(t.Context(), stress.ChaosConfig{
		ClusterConfig: stress.ClusterConfig{
			Nodes: 3, Log: t.Logf,
			NodeOptions: testenv.NodeOptions{Binary: former, Redis: testenv.Redis(t).URL, Database: testenv.Postgres(t).URL},
		},
		Players: 30, Arenas: 6, For: 30 * time.Second, Seed: 11, Next: next,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if report.ViolationCount > 0 {
		t.Errorf("%d violations", report.ViolationCount)
	}
	for _, mode := range []string{"duel", "buzzer", "survival", "race"} {
		if report.Summary.Matches[mode] == 0 {
			t.Errorf("no %s was played", mode)
		}
	}
}
