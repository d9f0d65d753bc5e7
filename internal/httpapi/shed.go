package httpapi

import (
	"laststand/internal/pressure"
)

// Pressure says what the node refuses since it has too much to do;
// *pressure.Gauge. Presses only says whether Refuse would. Enter begins a
// request, unless too many are under way, and Leave ends one that it began.
type Pressure interface {
	Presses(w pressure.What) bool
	Refuse(w pressure.What) error
	Enter() error
	Leave()
}

// calm is the Pressure on a node that has no gauge.
type calm struct{}

func (calm) Presses(pressure.What) bool { return false }
func (calm) Refuse(pressure.What) error { return nil }
func (calm) Enter() error               { return nil }
func (calm) Leave()                     {}

// sheds is what a hard-pressed node refuses, by method and path.
var sheds = map[string]pressure.What{
	"GET /v1/games/{game}/nicknames/{name}":               pressure.Reading,
	"GET /v1/games/{game}/players/{player}":               pressure.Reading,
	"GET /v1/games/{game}/players/{player}/matches":       pressure.Reading,
	"GET /v1/games/{game}/matches/{match}":                pressure.Reading,
	"GET /v1/games/{game}/leaderboards":                   pressure.Reading,
	"GET /v1/games/{game}/leaderboards/{window}":          pressure.Reading,
	"GET /v1/games/{game}/leaderboards/{window}/{player}": pressure.Reading,
	"POST /v1/games/{game}/guests":                        pressure.Guests,
	"POST /v1/games/{game}/arenas":                        pressure.Joining,
}

// shed refuses what the node has no time for just now. Who reads with a token of
// the game is somebody who plays.
func (a *api) shed(r *request, rt route) error {
	what, ok := sheds[rt.method+" "+rt.path]
	if !ok || !a.Pressure.Presses(what) {
		return nil
	}
	if what == pressure.Reading {
		if _, err := a.bearer(r); err == nil {
			return nil
		}
	}
	return a.Pressure.Refuse(what)
}

// counts says whether a route's requests are counted while they are under way:
// not those that answer at once, whatever the load, and those that only wait.
func (rt route) counts() bool {
	return rt.method != "" && rt.path != "/healthz" && rt.path != "/readyz" && patience[rt.path] == 0
}
