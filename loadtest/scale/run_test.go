package main

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"laststand/loadtest/harness"
)

// between divides the work by the number of answers, and adds up nodes and masters.
func TestBetween(t *testing.T) {
	t.Parallel()
	began := time.Now()
	from := reading{
		at: began, machine: harness.Machine{Busy: time.Second, Idle: time.Second}, nodes: []time.Duration{time.Second, 0},
		masters: []master{{cpu: time.Second, commands: 100, in: 10, calls: map[string]int64{"get": 5}}, {calls: map[string]int64{}}},
	}
	to := reading{
		at: began.Add(2 * time.Second), machine: harness.Machine{Busy: 4 * time.Second, Idle: 2 * time.Second},
		nodes: []time.Duration{2 * time.Second, time.Second}, postgres: time.Second, clients: time.Second, messages: 500, rows: 100, steps: 300, lost: 200, gaps: 100,
		masters: []master{
			{cpu: 2 * time.Second, commands: 400, in: 2010, out: 1000, published: 10, calls: map[string]int64{"get": 25}},
			{cpu: time.Second, commands: 100, calls: map[string]int64{"get": 20, "set": 1}},
		},
	}
	c, u := between(from, to, 1000)
	for name, is := range map[string][2]float64{
		"nodes": {c.NodesUS, 2000}, "Redis": {c.RedisUS, 2000}, "PostgreSQL": {c.PostgresUS, 1000}, "clients": {c.ClientsUS, 1000},
		"commands": {c.Commands, 0.4}, "in": {c.In, 2}, "out": {c.Out, 1}, "messages": {c.Messages, 0.5}, "published": {c.Published, 0.01}, "rows": {c.Rows, 0.1}, "steps": {c.Steps, 0.3}, "lost": {c.Lost, 0.2}, "gaps": {c.Gaps, 0.1},
		"get": {c.Calls["get"], 0.04}, "cores of node 2": {u.Nodes[1], 0.5}, "cores of Redis 1": {u.Redis[0], 0.5},
		"idle": {u.Idle, 0.25}, "the busiest master": {worst(from, to), 1.5},
	} {
		if math.Abs(is[0]-is[1]) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, is[0], is[1])
		}
	}
	if got := most(c.Calls, 1); got != "get 0.04" {
		t.Errorf("the most are %q", got)
	}
}

// complete reports all faults of the options at once.
func TestComplete(t *testing.T) {
	t.Parallel()
	o := options{nodeList: "1,none", storeList: "redis,disk", all: "arenas,chess", players: 7, arenas: 4}
	err := o.complete()
	for _, wrong := range []string{`"none"`, `"disk"`, `"chess"`, "-players is 7", "-rate"} {
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("nothing is said of %s: %v", wrong, err)
		}
	}
	o = options{nodeList: "1,4", storeList: "redis", all: "duels", players: 800, arenas: 8, rate: 2000, each: time.Second, rest: time.Second}
	if err := o.complete(); err != nil || len(o.nodes) != 2 || o.thinking("duels") != 600*time.Millisecond || o.thinking("arenas") != 400*time.Millisecond {
		t.Errorf("%v: %+v", err, o)
	}
}

// wait reports a fault even if an arena is over at the same time.
func TestFaultIsReported(t *testing.T) {
	t.Parallel()
	fault := errors.New("refused")
	for range 64 {
		c := newClients(new(stage))
		c.begin(func() error { return fault })
		_ = c.playing.Wait() // the fault is in the channel
		close(c.over)
		if err := c.wait(t.Context(), time.Hour); !errors.Is(err, fault) {
			t.Fatalf("it was told %v", err)
		}
	}
}
