package checker

import (
	"reflect"
	"testing"
	"time"

	player "laststand/loadtest/client"
)

// The servers' part of a delay starts when the player is connected and its node runs.
func TestDelays(t *testing.T) {
	t.Parallel()
	at := func(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }
	o := &checker{fleet: new(fleet)}
	for _, lead := range []int64{900, 500, 3000} { // the least bound is the best
		o.clock.bound(lead)
	}
	o.fleet.outages.add("b", span{at(100), at(2000)})
	o.fleet.outages.add("b", span{at(9000), at(9500)})
	var d Delays
	for _, a := range []arrival{
		{came: at(40), since: at(-5000), server: "a"},   // connected to a running node
		{came: at(99), since: at(-5000), server: "b"},   // the same, before the stall
		{came: at(101), since: at(-5000), server: "b"},  // the same: it was on its way before the stall
		{came: at(700), since: at(400), server: "a"},    // the player was disconnected
		{came: at(2030), since: at(-5000), server: "b"}, // the node was stalled
		{came: at(2200), since: at(1000), server: "b"},  // both: the stall ended later
		{came: at(2300), since: at(2250), server: "b"},  // the player was disconnected while its node was stalled
	} {
		a.opened = at(500).UnixMilli()
		d.add(a, o)
	}
	d.sort()
	want := Delays{
		All: []int64{40, 99, 101, 700, 2030, 2200, 2300}, There: []int64{40, 99, 101},
		Away: []int64{700, 2300}, AwayServer: []int64{50, 300},
		Stalled: []int64{2030, 2200}, StalledServer: []int64{30, 200},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("%+v, want %+v", d, want)
	}
}

// A question is late because of two nodes if both failed while it was late.
func TestLateByTwoNodes(t *testing.T) {
	t.Parallel()
	at := func(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }
	o := &checker{fleet: new(fleet)}
	o.clock.bound(0)
	o.fleet.outages.add("a", span{at(0), at(2000)})
	o.fleet.outages.add("b", span{at(1500), at(4000)})
	for q, want := range map[opening]bool{{500, 1400}: false, {500, 1600}: true, {1900, 6000}: true, {2100, 6000}: false, {5000, 9000}: false} {
		if got := o.doubly(opening{at(q.due).UnixMilli(), at(q.at).UnixMilli()}); got != want {
			t.Errorf("%+v: %v", q, got)
		}
	}
}

// The hello of a node that the program stopped during that hello does not count as the
// servers' delay.
func TestHellosOfANodeThatWasStopped(t *testing.T) {
	t.Parallel()
	o := &checker{fleet: new(fleet)}
	o.fleet.outages.add("b", span{time.Now().Add(-time.Second), time.Now().Add(-500 * time.Millisecond)})
	o.meter.welcomed("a", 2*time.Second)
	o.meter.welcomed("b", 2*time.Second)
	o.meter.welcomed("b", 100*time.Millisecond)
	c := &contender{shown: []arrival{{}}, ReconnectingPlayer: new(player.ReconnectingPlayer)}
	if d := o.delays([]*contender{c}); !reflect.DeepEqual(d.Hellos, []int64{100, 2000}) || len(d.All) != 1 {
		t.Errorf("%+v", d)
	}
}
