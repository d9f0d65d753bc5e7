package runner

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// plans distributes everything that was asked for, once.
func TestOrders(t *testing.T) {
	t.Parallel()
	c := Config{Idle: 101, Duellists: 14, Buzzer: 130, Survival: 51, Watchers: 3, Readers: 5, Seats: 50, Behaviours: 90, Ramp: 30}
	var idle, duellists, buzzer, survival, watchers, readers, halls int
	behaviours := 0.0
	names, firsts := map[string]bool{}, map[int]bool{}
	orders := c.plans(4, []string{"http://127.0.0.1:1"})
	for _, o := range orders {
		idle, duellists, watchers, readers, behaviours = idle+o.Idle, duellists+o.Duellists, watchers+o.Watchers, readers+o.Readers, behaviours+o.Behaviours
		for _, h := range o.ArenaGroups {
			halls++
			if h.Mode == "buzzer" {
				buzzer += h.Seats
			} else {
				survival += h.Seats
			}
		}
		if o.Idle > 26 || o.Idle < 25 || !o.Sources || !o.Mint {
			t.Errorf("%+v", o)
		}
		names[o.Name], firsts[o.First] = true, true
	}
	// the last of 51 duellists has no opponent
	if idle != 101 || duellists != 14 || buzzer != 130 || survival != 50 || watchers != 3 || readers != 5 || behaviours != 90 || halls != 4 {
		t.Errorf("%+v", orders)
	}
	if len(names) != 4 || len(firsts) != 4 || c.connections() != 101+14+130+50+3+halls {
		t.Errorf("%d connections: %+v", c.connections(), orders)
	}
	c.Files = 20_000
	if n := c.processesFor(0, 100_000); n != 6 {
		t.Errorf("100,000 connections are put into %d processes", n)
	}
}

// A rate sets the pace at which all players together reach it.
func TestPace(t *testing.T) {
	t.Parallel()
	c := Config{Duellists: 20_000, Rate: 1000}
	c.setPace()
	if c.Think != 10*time.Second || c.Reveal != 10*time.Second {
		t.Errorf("think %v, rest %v", c.Think, c.Reveal)
	}
}

// Validate reports every fault, with the remedy.
func TestValidate(t *testing.T) {
	t.Parallel()
	well := Config{Idle: 1, Seats: 50, Questions: 10, For: time.Second, Ramp: 1}
	if err := well.Validate(); err != nil {
		t.Error(err)
	}
	bad := Config{Duellists: 3, Seats: 1, Questions: 0, For: time.Hour, Spike: true, Soak: true, Attach: []string{"localhost"}, Behaviours: 1, Buzzer: -1}
	err := bad.Validate()
	if err == nil {
		t.Fatal("nothing was wrong")
	}
	paceless := Config{Idle: 1, Seats: 50, Questions: 10, For: time.Second, Ramp: 1e10, Rate: math.NaN(), Behaviours: math.Inf(1), Nodes: -1, Processes: -1}
	err = errors.Join(err, paceless.Validate())
	blind := Config{Idle: 1, Seats: 50, Questions: 10, For: time.Second, Ramp: 1, Soak: true, Attach: []string{"http://127.0.0.1:1"}}
	err = errors.Join(err, blind.Validate())
	for _, want := range []string{
		"-ramp is 1e+10", "-rate is NaN", "-behaviours is +Inf", "-nodes is -1", "-processes is -1", "give their -ops",
		"-duels is 3", "-seats is 1", "-questions is 0", "-for is 1h", "-ramp is 0", "-spike and -soak", "-buzzer is -1", `"localhost" is no address`, "-behaviours needs a token",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said: %v", want, err)
		}
	}
}
