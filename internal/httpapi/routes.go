package httpapi

import (
	"time"

	"laststand/docs"
	"laststand/internal/httpserver"
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

// routes lists all operations except the websocket, which newMux adds.
func (a *api) routes() []route {
	players, arenas, boards, services := playerRoutes{a}, arenaRoutes{a}, boardRoutes{a}, serviceRoutes{a}
	status := &statusRoutes{Config: a.Config}
	page := []string{"limit", "cursor"}
	board := []string{"order", "kind", "limit", "cursor", "around", "players", "date"}
	standing := []string{"order", "kind", "explain"}
	reading := admission{rule: a.Limits.Reads, shedKind: overload.Reading}
	largeBody := admission{extraTime: largeBodyTimeout}
	return []route{
		{"POST", gamePath + "/guests", players.postGuest, nil, admission{rule: a.Limits.GuestCalls, shedKind: overload.NewGuests}},
		{"GET", gamePath + "/nicknames/{name}", players.getNickname, nil, admission{rule: a.Limits.Nicknames, shedKind: overload.Reading}},
		{"PUT", callingPlayerPath + "/nickname", players.putNickname, nil, admission{}},
		{"DELETE", callingPlayerPath, players.deleteMe, nil, admission{}},
		{"PUT", callingPlayerPath + "/account", players.putAccount, nil, admission{}},
		{"PUT", callingPlayerPath + "/device", players.putDevice, nil, admission{}},
		{"GET", gamePath + "/players/{player}", players.getPlayer, nil, reading},
		{"GET", gamePath + "/players/{player}/matches", players.getHistory, page, reading},
		{"GET", callingPlayerPath + "/arenas", arenas.getHosted, page, reading},
		{"GET", gamePath + "/matches/{match}", boards.getMatch, page, reading},
		{"GET", gamePath + "/matches/{match}/answers", players.getAnswers, nil, reading},
		{"POST", gamePath + "/arenas", arenas.postArena, nil, admission{shedKind: overload.Joining}},
		{"GET", gamePath + "/arenas/{code}", arenas.getArena, nil, admission{rule: a.Limits.Reads}},
		{"GET", gamePath + "/arenas/{arena_id}/report", arenas.getReport, []string{"limit", "cursor", "format"}, admission{rule: a.Limits.Reads, shedKind: overload.Reading, extraTime: reportTimeout}},
		{"POST", gamePath + "/arenas/{arena_id}/voids", arenas.postVoid, nil, admission{}},
		{"POST", gamePath + "/behaviours", services.postBehaviours, nil, largeBody},
		{"POST", gamePath + "/tasks", services.postTasks, nil, largeBody},
		{"POST", gamePath + "/tasks/claim", services.postClaim, nil, admission{extraTime: taskqueue.MaxPollWait}},
		{"POST", gamePath + "/tasks/renew", services.postRenew, nil, admission{}},
		{"POST", gamePath + "/tasks/complete", services.postComplete, nil, admission{}},
		{"POST", gamePath + "/tasks/fail", services.postFail, nil, admission{}},
		{"GET", gamePath + "/tasks/{task}", services.getTask, nil, admission{}},
		{"GET", gamePath + "/leaderboards", boards.getBoards, nil, reading},
		{"GET", gamePath + "/leaderboards/{window}", boards.getBoard, board, reading},
		{"GET", gamePath + "/leaderboards/{window}/{player}", boards.getStanding, standing, reading},
		{"GET", "/healthz", status.getHealth, nil, admission{isHealthCheck: true}},
		{"GET", "/readyz", status.getReadiness, nil, admission{isHealthCheck: true}},
		{"GET", "/openapi.yaml", func(*request) (any, error) { return httpserver.Raw{ContentType: yamlType, Content: docs.OpenAPI}, nil }, nil, admission{}},
		{"GET", "/asyncapi.yaml", func(*request) (any, error) { return httpserver.Raw{ContentType: yamlType, Content: docs.AsyncAPI}, nil }, nil, admission{}},
	}
}
