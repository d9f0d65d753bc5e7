package httpapi

import (
	"time"

	"laststand/docs"
	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
	"laststand/internal/overload"
	"laststand/internal/taskqueue"
)

const (
	gamePath = "/v1/games/{game}"
	// websocketPath is the path of the websocket. Config.Websocket writes its
	// responses.
	websocketPath = "/v1/ws"
	// callingPlayerPath is the path of the player that the bearer token names. It
	// cannot be the profile of another player, because no player has the id "me".
	callingPlayerPath = gamePath + "/players/me"

	// largeBodyTimeout is the extra time for a body of some MiB.
	largeBodyTimeout = 15 * time.Second
	// reportTimeout is the extra time for a large report, and for the wait for a slot
	// of reportSlots.
	reportTimeout = 25 * time.Second
	// yamlType is the registered media type of YAML (RFC 9512).
	yamlType = "application/yaml"
)

// route is one operation of the contract. query lists the allowed query parameters. The
// server refuses all others.
type route struct {
	method, path string
	access       access
	handle       handler
	query        []string
	admission    admission
}

// admission says how requests of a route are admitted before they are authenticated.
type admission struct {
	rule          *overload.Rule // limit per address; nil: none
	shedKind      overload.Kind  // kind of work that an overloaded node refuses; "": it never refuses the route
	extraTime     time.Duration  // time limit in addition to requestTimeout; such requests need no slot, because most of their time is waiting
	isHealthCheck bool           // needs no slot, because a full node must answer too
	isNewWork     bool           // refused while the node is draining
}

// The groups of routes. Each has the handlers of one kind of client or object.
type (
	playerRoutes  struct{ *api } // guests, nicknames, accounts, profiles
	arenaRoutes   struct{ *api }
	boardRoutes   struct{ *api } // leaderboards and settled matches
	serviceRoutes struct{ *api } // behaviours and tasks of the services of a game
)

// routes lists all operations except the websocket, which newMux adds.
func (a *api) routes() []route {
	players, arenas, boards, services := playerRoutes{a}, arenaRoutes{a}, boardRoutes{a}, serviceRoutes{a}
	status := &statusRoutes{api: a}
	changes, taskCalls := playersOnly.limitedBy(a.Limits.Changes), servicesOnly.limitedBy(a.Limits.Tasks)
	page := []string{"limit", "cursor"}
	board := []string{"order", "kind", "limit", "cursor", "around", "players", "date"}
	standing := []string{"order", "kind", "explain"}
	reading := admission{rule: a.Limits.Reads, shedKind: overload.Reading}
	newGuest := admission{rule: a.Limits.GuestCalls, shedKind: overload.NewGuests, isNewWork: true}
	reporting := admission{rule: a.Limits.Reads, shedKind: overload.Reading, extraTime: reportTimeout}
	healthCheck := admission{isHealthCheck: true}
	return []route{
		{"POST", gamePath + "/guests", anyone, withBody(maxGuestBody, players.postGuest), nil, newGuest},
		{"GET", gamePath + "/nicknames/{name}", anyone, players.getNickname, nil, admission{rule: a.Limits.Nicknames, shedKind: overload.Reading}},
		{"PUT", callingPlayerPath + "/nickname", changes, withBody(maxBody, players.putNickname), nil, admission{}},
		{"DELETE", callingPlayerPath, changes, players.deleteMe, nil, admission{}},
		{"PUT", callingPlayerPath + "/account", changes, withBody(maxBody, players.putAccount), nil, admission{}},
		{"PUT", callingPlayerPath + "/device", changes, withBody(maxGuestBody, players.putDevice), nil, admission{}},
		{"GET", gamePath + "/players/{player}", anyone, players.getPlayer, nil, reading},
		{"GET", gamePath + "/players/{player}/matches", anyone, withPage(leaderboard.MaxLimit, players.getHistory), page, reading},
		{"GET", callingPlayerPath + "/arenas", hostsOnly, withPage(leaderboard.MaxLimit, arenas.getHosted), page, reading},
		{"GET", gamePath + "/matches/{match}", anyone, withPage(leaderboard.MaxLimit, boards.getMatch), page, reading},
		{"GET", gamePath + "/matches/{match}/answers", playersOnly, players.getAnswers, nil, reading},
		{"POST", gamePath + "/arenas", hostsOnly, arenas.postArena, nil, admission{shedKind: overload.Joining, isNewWork: true}},
		{"GET", gamePath + "/arenas/{code}", anyone, arenas.getArena, nil, admission{rule: a.Limits.Reads}},
		{"GET", gamePath + "/arenas/{arena_id}/report", hostsAndServices, arenas.getReport, []string{"limit", "cursor", "format"}, reporting},
		{"POST", gamePath + "/arenas/{arena_id}/voids", hostsAndServices, arenas.postVoid, nil, admission{}},
		{"POST", gamePath + "/behaviours", servicesOnly, services.postBehaviours, nil, admission{extraTime: largeBodyTimeout, isNewWork: true}},
		{"POST", gamePath + "/tasks", taskCalls, withBody(maxTasksBody, services.postTasks), nil, admission{extraTime: largeBodyTimeout}},
		{"POST", gamePath + "/tasks/claim", taskCalls, withBody(maxBody, services.postClaim), nil, admission{extraTime: taskqueue.MaxPollWait}},
		{"POST", gamePath + "/tasks/renew", taskCalls, withBody(maxBody, services.postRenew), nil, admission{}},
		{"POST", gamePath + "/tasks/complete", taskCalls, withBody(maxBody, services.postComplete), nil, admission{}},
		{"POST", gamePath + "/tasks/fail", taskCalls, withBody(maxBody, services.postFail), nil, admission{}},
		{"GET", gamePath + "/tasks/{task}", taskCalls, services.getTask, nil, admission{}},
		{"GET", gamePath + "/leaderboards", anyone, boards.getBoards, nil, reading},
		{"GET", gamePath + "/leaderboards/{window}", anyone, boards.getBoard, board, reading},
		{"GET", gamePath + "/leaderboards/{window}/{player}", anyone, boards.getStanding, standing, reading},
		{"GET", "/healthz", anyone, status.getHealth, nil, healthCheck},
		{"GET", "/readyz", anyone, status.getReadiness, nil, healthCheck},
		{"GET", "/openapi.yaml", anyone, contract(docs.OpenAPI), nil, admission{}},
		{"GET", "/asyncapi.yaml", anyone, contract(docs.AsyncAPI), nil, admission{}},
	}
}

func contract(content []byte) handler {
	return func(*request) (any, error) {
		return httpserver.Raw{ContentType: yamlType, Content: content}, nil
	}
}
