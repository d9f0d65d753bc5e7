package ordeal

import (
	"reflect"
	"testing"
	"time"

	"laststand/loadtest/player"
)

// A question's delay is the servers' from when the player was there, and its node
// ran.
func TestDelays(t *testing.T) {
	t.Parallel()
	at := func(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }
	o := &ordeal{fleet: new(fleet)}
	for _, lead := range []int64{900, 500, 3000} { // the least is the best
		o.clock.bound(lead)
	}
	o.fleet.stalls.add("b", span{at(100), at(2000)})
	o.fleet.stalls.add("b", span{at(9000), at(9500)})
	var d Delays
	for _, a := range []arrival{
		{came: at(40), since: at(-5000), server: "a"},   // there
		{came: at(99), since: at(-5000), server: "b"},   // there, before the stall
		{came: at(700), since: at(400), server: "a"},    // away
		{came: at(2030), since: at(-5000), server: "b"}, // stalled
		{came: at(2200), since: at(1000), server: "b"},  // both: the stall ended later
		{came: at(2300), since: at(2250), server: "b"},  // away while its node was stalled
	} {
		a.opened = at(500).UnixMilli()
		d.add(a, o)
	}
	d.sort()
	want := Delays{
		All: []int64{40, 99, 700, 2030, 2200, 2300}, There: []int64{40, 99},
		Away: []int64{700, 2300}, AwayServer: []int64{50, 300},
		Stalled: []int64{2030, 2200}, StalledServer: []int64{30, 200},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("%+v, want %+v", d, want)
	}
}

// Hellos of a node that was stopped meanwhile do not count as the servers'.
func TestHellosOfANodeThatWasStopped(t *testing.T) {
	t.Parallel()
	o := &ordeal{fleet: new(fleet)}
	o.fleet.stalls.add("b", span{time.Now().Add(-time.Second), time.Now().Add(-500 * time.Millisecond)})
	o.meter.welcomed("a", 2*time.Second)
	o.meter.welcomed("b", 2*time.Second)
	o.meter.welcomed("b", 100*time.Millisecond)
	c := &contender{shown: []arrival{{}}, Roamer: new(player.Roamer)}
	if d := o.delays([]*contender{c}); !reflect.DeepEqual(d.Hellos, []int64{100, 2000}) || len(d.All) != 1 {
		t.Errorf("%+v", d)
	}
}
