package httpapi

import (
	"laststand/internal/loadshed"
)

// LoadShedder refuses work while the node is overloaded. *loadshed.LoadShedder
// implements it. ShouldShed reports whether Check would refuse. AcquireRequest
// starts a request or refuses it if too many run. ReleaseRequest ends a request
// that AcquireRequest started.
type LoadShedder interface {
	ShouldShed(w loadshed.Kind) bool
	Check(w loadshed.Kind) error
	AcquireRequest() error
	ReleaseRequest()
}

// neverSheds is the LoadShedder of a node without load shedding.
type neverSheds struct{}

func (neverSheds) ShouldShed(loadshed.Kind) bool { return false }
func (neverSheds) Check(loadshed.Kind) error     { return nil }
func (neverSheds) AcquireRequest() error         { return nil }
func (neverSheds) ReleaseRequest()               {}

// kindByRoute lists the routes that an overloaded node refuses, with the kind
// of their work.
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

// shed refuses a request if the node sheds its kind of work. It still serves
// reads with a valid token of the game, because such a client plays.
func (a *api) shed(r *request, rt route) error {
	kind, ok := kindByRoute[rt.method+" "+rt.path]
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

// needsSlot reports whether the requests of a route need a concurrency slot.
// Health checks need none because they must always answer. Long polls need none
// because they only wait.
func (rt route) needsSlot() bool {
	return rt.method != "" && rt.path != "/healthz" && rt.path != "/readyz" && extraTime[rt.path] == 0
}
