package httpapi

import (
	"laststand/internal/loadshed"
)

// LoadShedder refuses work while the node is overloaded. *loadshed.Shedder
// implements it. ShouldShed returns true if the node refuses work of a kind now.
// Check returns the refusal, or nil. AcquireRequest counts a request, or refuses
// it if too many run. ReleaseRequest stops counting it.
type LoadShedder interface {
	ShouldShed(kind loadshed.Kind) bool
	Check(kind loadshed.Kind) error
	AcquireRequest() error
	ReleaseRequest()
}

// noLoadShedding is the LoadShedder if the Config has none: it refuses nothing.
type noLoadShedding struct{}

func (noLoadShedding) ShouldShed(loadshed.Kind) bool { return false }
func (noLoadShedding) Check(loadshed.Kind) error     { return nil }
func (noLoadShedding) AcquireRequest() error         { return nil }
func (noLoadShedding) ReleaseRequest()               {}

// kindByRoute lists the routes that an overloaded node refuses, with their kind
// of work. An overloaded node still serves all other routes.
var kindByRoute = map[string]loadshed.Kind{
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

// checkLoad refuses a request if the node sheds its kind of work. It allows reads
// with a valid token of the game, because such a client probably plays.
func (a *api) checkLoad(r *request, route route) error {
	kind, ok := kindByRoute[route.method+" "+route.path]
	if !ok || !a.LoadShedder.ShouldShed(kind) {
		return nil
	}
	if kind == loadshed.Reading {
		if _, err := a.authenticate(r); err == nil {
			return nil
		}
	}
	return a.LoadShedder.Check(kind)
}

// needsSlot returns true if requests of a route need a concurrency slot. Health
// checks need none, because a full node must answer them too. The paths of
// extraTimeByPath need none, because most of their time is waiting.
func (rt route) needsSlot() bool {
	return rt.method != "" && rt.path != "/healthz" && rt.path != "/readyz" && extraTimeByPath[rt.path] == 0
}
