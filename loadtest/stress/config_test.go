package stress

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// Each arena has a host, which needs a connection too.
func TestHostsNeedConnections(t *testing.T) {
	t.Parallel()
	c := &Swarm{Idle: 101, Duellists: 14, Buzzer: 130, Survival: 50, Watchers: 3, Seats: 50}
	if n := c.connections(); n != 101+14+130+50+3+3+1 {
		t.Errorf("%d connections", n)
	}
}

// Check reports every error, with the remedy.
func TestValidateReportsEveryError(t *testing.T) {
	t.Parallel()
	good := Swarm{Nodes: 1, Idle: 1, Seats: 50, Questions: 10, For: time.Second, Ramp: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	bad := Swarm{Duellists: 3, Seats: 1, For: time.Hour, Spike: true, Buzzer: -1, Survival: 3}
	bad.Attach = []string{"localhost"}
	paceless := good
	paceless.Idle, paceless.Ramp, paceless.Behaviours, paceless.Nodes = 2_000_000, math.NaN(), math.Inf(1), -1
	err := errors.Join(bad.Check(), paceless.Check())
	if err == nil {
		t.Fatal("nothing was wrong")
	}
	for _, want := range []string{
		"-ramp is NaN", "-behaviours is +Inf", "-nodes is -1", "2000000 connections need more", "clients is below 0",
		"-duels is 3", "-seats is 1", "-questions is 0", "-for is 1h", "-ramp is 0", "omit -buzzer", `"localhost" is no URL`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing: %v", want, err)
		}
	}
}

// A spike changes only the options that were not given.
func TestASpikeHasOptionsOfItsOwn(t *testing.T) {
	t.Parallel()
	var o Swarm
	parser, err := kong.New(&o)
	if err == nil {
		_, err = parser.Parse([]string{"--spike", "--think", "3s"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if o.Think != 3*time.Second || o.Buzzer != 0 || o.Idle != 0 || o.Questions != 3 || o.Reveal != time.Second || o.Duellists != 200 {
		t.Errorf("%+v", o)
	}
}

// A seed repeats the faults: as many of each kind as were asked for, before the end, and
// stalls longer than a question.
func TestASeedRepeatsTheFaults(t *testing.T) {
	t.Parallel()
	c := &Chaos{Kills: 3, Stalls: 2, Drains: 1, For: time.Minute, Seed: 7}
	r := new(run)
	first, again := r.faults(c), r.faults(c)
	count := map[string]int{}
	for i, f := range first {
		count[f.name]++
		if f.at != again[i].at || f.lasts != again[i].lasts || f.name != again[i].name {
			t.Errorf("fault %d differs: %v after %v and %v after %v", i, f.name, f.at, again[i].name, again[i].at)
		}
		if f.at < c.For/10 || f.at > c.For*8/10 || f.name == "stall" && f.lasts < chaosLimitMS*time.Millisecond || i > 0 && f.at < first[i-1].at {
			t.Errorf("%s after %v for %v", f.name, f.at, f.lasts)
		}
	}
	if count["kill"] != 3 || count["stall"] != 2 || count["drain"] != 1 {
		t.Errorf("%v", count)
	}
}
