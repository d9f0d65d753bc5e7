package bench

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"laststand/loadtest/players"
	"laststand/loadtest/report"
)

// The figures of a row divide the work of all nodes and masters by the number of answers.
func TestFiguresDivideByAnswers(t *testing.T) {
	t.Parallel()
	start := time.Now()
	m := measurement{
		from: usage{at: start, work: map[string]float64{"nodes µs": 1e6, "commands": 100, "bytes in": 10}, commands: []float64{100, 0}},
		to: usage{
			at: start.Add(2 * time.Second), commands: []float64{400, 100}, matches: 10,
			work: map[string]float64{"nodes µs": 3e6, "PostgreSQL µs": 1e6, "commands": 500, "bytes in": 2010, "rows": 100},
		},
		answers: report.Quantiles{N: 1000, P50: 2}, memory: 5000, replies: 2000,
	}
	r := report.New("test")
	newAnswerTables(r).add("row", m)
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tables []struct {
			Rows []struct{ Medians map[string]float64 }
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for table, figures := range []map[string]float64{
		{"answers/s": 500, "p50 ms": 2, "nodes µs": 2000, "PostgreSQL µs": 1000},
		{"commands": 0.4, "bytes in": 2, "rows": 0.1, "busiest master": 1.5, "Redis B a match": 500, "Redis B an answer": 2.5},
	} {
		for column, want := range figures {
			if figure, ok := got.Tables[table].Rows[0].Medians[column]; !ok || math.Abs(figure-want) > 0.002*want {
				t.Errorf("%s: %v, want %v", column, figure, want)
			}
		}
	}
}

// The INFO of each master is added to the work. A field that is missing is an error.
func TestRedisInfoIsAdded(t *testing.T) {
	t.Parallel()
	u := usage{work: make(map[string]float64)}
	info := "used_cpu_user:1\r\nused_cpu_sys:0.5\r\ntotal_reads_processed:3\r\ntotal_commands_processed:7\r\ntotal_net_input_bytes:5\r\n" +
		"total_net_output_bytes:6\r\nused_memory:100\r\nmem_clients_normal:40\r\n"
	if err := errors.Join(u.addRedisInfo(info), u.addRedisInfo(info)); err != nil {
		t.Fatal(err)
	}
	if u.work["Redis µs"] != 3e6 || u.work["commands"] != 14 || len(u.commands) != 2 || u.memory != 120 || u.work["bytes out"] != 12 {
		t.Errorf("%+v", u)
	}
	if err := u.addRedisInfo("used_cpu_user:1\n"); err == nil {
		t.Error("a missing field is no error")
	}
}

// All faults of the flags are reported at the same time.
func TestScaleReportsAllFaultsOfItsFlags(t *testing.T) {
	t.Parallel()
	o := scaleOptions{nodes: "1,none", stores: "redis,disk", kinds: "arenas,chess", players: 7, arenas: 4}
	_, err := o.cases()
	for _, fault := range []string{`"none"`, `"disk"`, `"chess"`, "-players is 7", "-rate"} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%v does not report %s", err, fault)
		}
	}
	o = scaleOptions{nodes: "1,4", stores: "redis", kinds: "duels", players: 800, arenas: 8, rate: 2000, duration: time.Second, rest: time.Second}
	cases, err := o.cases()
	if err != nil || len(cases) != 2 || cases[1].cluster.nodes != 4 || cases[1].cluster.node.Redis != "redis" || cases[1].play.mode != "duel" {
		t.Errorf("%+v, %v", cases, err)
	}
	if duels, arenas := o.maxDelay("duels"), o.maxDelay("arenas"); duels != 600*time.Millisecond || arenas != 400*time.Millisecond {
		t.Errorf("players of duels answer within %v, of arenas within %v", duels, arenas)
	}
}

// A fault of a player is reported even if an arena ends at the same time.
func TestWaitReportsAFault(t *testing.T) {
	t.Parallel()
	fault := errors.New("refused")
	for range 64 {
		p := &answeringPlayers{firstOver: make(chan struct{}), failed: make(chan error, 1)}
		p.addError(fault)
		close(p.firstOver)
		if err := p.wait(t.Context(), p.firstOver, time.Hour); !errors.Is(err, fault) {
			t.Fatalf("%v, want %v", err, fault)
		}
	}
}

// A reply counts with its latency, and a first right answer as one.
func TestRepliesAreCounted(t *testing.T) {
	t.Parallel()
	p := &answeringPlayers{latencies: report.NewRecorder(time.Hour), answering: make(chan struct{})}
	p.record(players.Reply{Latency: time.Millisecond})
	p.record(players.Reply{Latency: 3 * time.Millisecond, IsFirst: true})
	<-p.answering
	latencies := p.latencies.Take().Quantiles(answered)
	if latencies.N != 2 || p.replies.Load() != 2 || p.firsts.Load() != 1 || latencies.Max < 2.9 {
		t.Errorf("latencies %+v, %d replies, %d firsts", latencies, p.replies.Load(), p.firsts.Load())
	}
}
