package httpapi

import (
	"laststand/internal/overload"
)

// LoadShedder refuses work while the node is overloaded. *overload.Shedder
// implements it. ShouldShed returns true if the node refuses work of a kind now.
// Check returns the refusal, or nil. AcquireRequest counts a request, or refuses
// it if too many run. ReleaseRequest stops counting it.
type LoadShedder interface {
	ShouldShed(kind overload.Kind) bool
	Check(kind overload.Kind) error
	AcquireRequest() error
	ReleaseRequest()
}

// noLoadShedding is the LoadShedder if the Config has none: it refuses nothing.
type noLoadShedding struct{}

func (noLoadShedding) ShouldShed(overload.Kind) bool { return false }
func (noLoadShedding) Check(overload.Kind) error     { return nil }
func (noLoadShedding) AcquireRequest() error         { return nil }
func (noLoadShedding) ReleaseRequest()               {}

// kindByRoute lists the routes that an overloaded node refuses, with their kind
// of work. An overloaded node still serves all other routes.
var kindByRoute = map[string]overload.Kind{
	"GET /v1/games/{game}/nicknames/{name}":               overload.Reading,
	"GET /v1/games/{game}/players/{player}":               overload.Reading,
	"GET /v1/games/{game}/players/{player}/matches":       overload.Reading,
	"GET /v1/games/{game}/matches/{match}":                overload.Reading,
	"GET /v1/games/{game}/leaderboards":                   overload.Reading,
	"GET /v1/games/{game}/leaderboards/{window}":          overload.Reading,
	"GET /v1/games/{game}/leaderboards/{window}/{player}": overload.Reading,
	"POST /v1/games/{game}/guests":                        overload.NewGuests,
	"POST /v1/games/{game}/arenas":                        overload.Joining,
}

// checkLoad refuses a request if the node sheds its kind of work. It allows reads
// with a valid token of the game, because such a client probably plays.
func (g *gate) checkLoad(r *request, route route) error {
	kind, ok := kindByRoute[route.method+" "+route.path]
	if !ok || !g.LoadShedder.ShouldShed(kind) {
		return nil
	}
	if kind == overload.Reading {
		if _, err := g.authenticate(r); err == nil {
			return nil
		}
	}
	return g.LoadShedder.Check(kind)
}

// needsSlot returns true if requests of a route need a concurrency slot. Health
// checks need none, because a full node must answer them too. The paths of
// extraTimeByPath need none, because most of their time is waiting.
func (rt route) needsSlot() bool {
	return rt.method != "" && rt.path != "/healthz" && rt.path != "/readyz" && extraTimeByPath[rt.path] == 0
}
