package httpapi

import (
	"laststand/internal/loadshed"
)

// Pressure says what the node refuses since it has too much to do;
// *loadshed.Gauge. Presses only says whether Refuse would. Enter begins a
// request, unless too many are under way, and Leave ends one that it began.
type Pressure interface {
	ShouldShed(w loadshed.Kind) bool
	Check(w loadshed.Kind) error
	AcquireRequest() error
	ReleaseRequest()
}

// calm is the Pressure on a node that has no gauge.
type calm struct{}

func (calm) ShouldShed(loadshed.Kind) bool { return false }
func (calm) Check(loadshed.Kind) error { return nil }
func (calm) AcquireRequest() error               { return nil }
func (calm) ReleaseRequest()                     {}

// sheds is what a hard-pressed node refuses, by method and path.
var sheds = map[string]loadshed.Kind{
	"GET /v1/games/{game}/nicknames/{name}":               loadshed.Reading,
	"GET /v1/games/{game}/players/{player}":               loadshed.Reading,
	"GET /v1/games/{game}/players/{player}/matches":       loadshed.Reading,
	"GET /v1/games/{game}/matches/{match}":                loadshed.Reading,
	"GET /v1/games/{game}/leaderboards":                   loadshed.Reading,
	"GET /v1/games/{game}/leaderboards/{window}":          loadshed.Reading,
	"GET /v1/games/{game}/leaderboards/{window}/{player}": loadshed.Reading,
	"POST /v1/games/{game}/guests":                        loadshed.NewGuests,
	"POST /v1/games/{game}/arenas":                        loadshed.Joining,
}

// shed refuses what the node has no time for just now. Who reads with a token of
// the game is somebody who plays.
func (a *api) shed(r *request, rt route) error {
	what, ok := sheds[rt.method+" "+rt.path]
	if !ok || !a.Pressure.ShouldShed(what) {
		return nil
	}
	if what == loadshed.Reading {
		if _, err := a.bearer(r); err == nil {
			return nil
		}
	}
	return a.Pressure.Check(what)
}

// counts says whether a route's requests are counted while they are under way:
// not those that answer at once, whatever the load, and those that only wait.
func (rt route) counts() bool {
	return rt.method != "" && rt.path != "/healthz" && rt.path != "/readyz" && patience[rt.path] == 0
}
