package swarm

import (
	"errors"
	"flag"
	"math"
	"strings"
	"testing"
	"time"
)

// A rate sets the pace at which all players together reach it.
func TestARateSetsThePace(t *testing.T) {
	t.Parallel()
	c := Config{Duellists: 20_000, Rate: 1000}
	c.setPace()
	if c.Think != 10*time.Second || c.Reveal != 10*time.Second {
		t.Errorf("think %v, reveal %v", c.Think, c.Reveal)
	}
}

// Each arena has a host, which needs a connection too.
func TestHostsNeedConnections(t *testing.T) {
	t.Parallel()
	c := Config{Idle: 101, Duellists: 14, Buzzer: 130, Survival: 50, Watchers: 3, Seats: 50, Files: 20_000}
	if n := c.connections(); n != 101+14+130+50+3+3+1 || c.mostConnections() != 17_500 {
		t.Errorf("%d connections, at most %d", n, c.mostConnections())
	}
}

// Validate reports every error, with the remedy.
func TestValidateReportsEveryError(t *testing.T) {
	t.Parallel()
	good := Config{Idle: 1, Seats: 50, Questions: 10, For: time.Second, Ramp: 1, Files: 20_000}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	bad := Config{Duellists: 3, Seats: 1, Questions: 0, For: time.Hour, Spike: true, Soak: true, Attach: []string{"localhost"}, Behaviours: 1, Buzzer: -1}
	paceless := Config{Duellists: 18_000, Seats: 50, Questions: 10, For: time.Second, Ramp: 1e10, Rate: math.NaN(), Behaviours: math.Inf(1), Nodes: -1, Files: 20_000}
	blind := Config{Idle: 1, Seats: 50, Questions: 10, For: time.Second, Ramp: 1, Soak: true, Attach: []string{"http://127.0.0.1:1"}}
	err := errors.Join(bad.Validate(), paceless.Validate(), blind.Validate())
	if err == nil {
		t.Fatal("nothing was wrong")
	}
	for _, want := range []string{
		"-ramp is 1e+10", "-rate is NaN", "-behaviours is +Inf", "-nodes is -1", "18000 players need more", "add -ops",
		"-duels is 3", "-seats is 1", "-questions is 0", "-for is 1h", "-ramp is 0", "-spike and -soak", "-buzzer is -1", `"localhost" is no URL`, "-behaviours needs a token",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing: %v", want, err)
		}
	}
}

// A spike changes only the options that were not given.
func TestASpikeHasOptionsOfItsOwn(t *testing.T) {
	t.Parallel()
	flags := flag.NewFlagSet("swarm", flag.ContinueOnError)
	o := options{set: flags}
	o.addFlags(flags)
	if err := flags.Parse([]string{"-spike", "-think", "3s"}); err != nil {
		t.Fatal(err)
	}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	if o.Think != 3*time.Second || o.Buzzer != 0 || o.Idle != 0 || o.Questions != 3 || o.Reveal != time.Second || o.LagMS != -1 || o.Duellists != 200 {
		t.Errorf("%+v", o.Config)
	}
}
