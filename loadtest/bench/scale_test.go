package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// The figures of a row divide the work of all nodes and masters by the number of answers.
func TestFiguresDivideByAnswers(t *testing.T) {
	t.Parallel()
	start := time.Now()
	m := measurement{
		from:    usage{at: start, cpu: map[string]float64{"nodes µs": 1e6}},
		to:      usage{at: start.Add(2 * time.Second), cpu: map[string]float64{"nodes µs": 3e6, "PostgreSQL µs": 1e6}},
		answers: players.Quantiles{N: 1000, P50: 2}, memory: 6000, replies: 2000,
	}
	table := newAnswerTable(players.NewReport("test"))
	m.addTo(table, "row")
	const want = "row 500 2 0 2000 0 1000 0 3"
	if text := strings.Join(strings.Fields(table.String()), " "); !strings.HasSuffix(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
}

// The INFO of each master is added to the work. A field that is missing is an error.
func TestRedisInfoIsAdded(t *testing.T) {
	t.Parallel()
	u := usage{cpu: make(map[string]float64)}
	info := map[string]map[string]string{"CPU": {"used_cpu_user": "1", "used_cpu_sys": "0.5"}, "Memory": {"used_memory": "100", "mem_clients_normal": "40"}}
	if err := errors.Join(u.addRedisInfo(info), u.addRedisInfo(info)); err != nil {
		t.Fatal(err)
	}
	if u.cpu["Redis µs"] != 3e6 || u.memory != 120 {
		t.Errorf("%+v", u)
	}
	if err := u.addRedisInfo(map[string]map[string]string{"CPU": {"used_cpu_user": "1"}}); err == nil {
		t.Error("a missing field is no error")
	}
}

// The flags choose cases by their names, and an unknown name is an error. The rate sets the
// delay of answers.
func TestScaleMeasuresTheChosenCases(t *testing.T) {
	t.Parallel()
	o := Scale{Players: 800, Rate: 2000}
	parts := o.parts(players.NewReport("test"))
	if p := parts[len(parts)-1]; p.name != "duels/cluster/4" || p.nodes.Count != 4 || p.nodes.Redis != "cluster" || o.play("duels").mode != "duel" {
		t.Errorf("%+v", p)
	}
	if chosen, err := choose(parts, []string{"duels/redis/4", "arenas/cluster/1"}); err != nil || len(chosen) != 2 || chosen[0].name != "duels/redis/4" || chosen[1].name != "arenas/cluster/1" {
		t.Errorf("%d parts, %v", len(chosen), err)
	}
	if _, err := choose(parts, []string{"duels/redis/4", "chess"}); err == nil || !strings.Contains(err.Error(), "chess") || !strings.Contains(err.Error(), "arenas/redis/1,duels/redis/1") {
		t.Errorf("an unknown name: %v", err)
	}
	if duels, arenas := o.play("duels").maxDelay, o.play("arenas").maxDelay; duels != 600*time.Millisecond || arenas != 400*time.Millisecond {
		t.Errorf("players of duels answer within %v, of arenas within %v", duels, arenas)
	}
}

// A floor starts in place of the nodes, whatever their number. A node beside it would do its work, and
// half of the players would measure the node.
func TestAFloorTakesThePlaceOfAllNodes(t *testing.T) {
	t.Parallel()
	for _, p := range slices.Concat((&Duels{Pairs: 1}).parts(players.NewReport("test")), (&Answers{Arenas: 1, Players: 1, Questions: 1}).parts(players.NewReport("test"))) {
		if p.nodes.Floor == nil {
			continue
		}
		p.nodes.Count, p.nodes.Redis = max(p.nodes.Count, 1), "" // there is no binary of a node, so none can start
		p.measure = func(_ context.Context, c cluster) {
			if len(c.All) != 1 || len(c.URLs()) != 1 || !strings.Contains(c.All[0].Log(), "listening on "+c.URLs()[0]) {
				t.Errorf("%s: %d servers at %v", p.name, len(c.All), c.URLs())
			}
		}
		if err := p.run(t.Context(), "no binary"); err != nil {
			t.Error(err)
		}
	}
}

// A fault of a player is reported even if an arena ends at the same time.
func TestWaitReportsAFault(t *testing.T) {
	t.Parallel()
	fault := errors.New("refused")
	for range 64 {
		p := newAnsweringPlayers(t.Context(), cluster{}, playOptions{})
		p.playing.Go(func() error { return fault })
		p.end()
		<-p.faulty.Done()
		var err error
		func() {
			defer testenv.Recover(&err)
			p.playFor(time.Hour)
		}()
		if !errors.Is(err, fault) {
			t.Fatalf("%v, want %v", err, fault)
		}
	}
}

// A reply counts with its latency, and a first right answer as one.
func TestRepliesAreCounted(t *testing.T) {
	t.Parallel()
	p := newAnsweringPlayers(t.Context(), cluster{}, playOptions{})
	p.record(time.Millisecond, false)
	p.record(3*time.Millisecond, true)
	latencies := p.latencies.Take().Quantiles(answered)
	if latencies.N != 2 || p.replies.Load() != 2 || p.firsts.Load() != 1 || latencies.Max < 2.9 {
		t.Errorf("latencies %+v, %d replies, %d firsts", latencies, p.replies.Load(), p.firsts.Load())
	}
}
