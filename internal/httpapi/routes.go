package httpapi

import (
	"net/http"
	"time"

	"laststand/internal/taskqueue"
)

// route is one operation of the contract. query lists the allowed query
// parameters. The server refuses all others.
type route struct {
	method, path string
	handle       func(http.ResponseWriter, *request) error
	query        []string
}

const (
	claimPath      = gamePath + "/tasks/claim"
	tasksPath      = gamePath + "/tasks"
	behavioursPath = gamePath + "/behaviours"
)

// largeBodyTimeout is the extra time for a body of some MiB.
const largeBodyTimeout = 15 * time.Second

// extraTimeByPath lists the paths whose requests may take longer than
// requestTimeout, with the additional time.
var extraTimeByPath = map[string]time.Duration{claimPath: taskqueue.MaxPollWait, tasksPath: largeBodyTimeout, behavioursPath: largeBodyTimeout}

// The groups of routes. Each has the handlers of one kind of client or object.
type (
	playerRoutes  struct{ *gate } // guests, nicknames, accounts, profiles
	arenaRoutes   struct{ *gate }
	boardRoutes   struct{ *gate } // leaderboards and settled matches
	serviceRoutes struct{ *gate } // behaviours and tasks of the services of a game
)

const gamePath = "/v1/games/{game}"

// routes lists all operations except the websocket, which newMux adds.
func (a *api) routes() []route {
	players, arenas, boards, services := playerRoutes{a.gate}, arenaRoutes{a.gate}, boardRoutes{a.gate}, serviceRoutes{a.gate}
	status := &statusRoutes{Config: a.Config}
	page := []string{"limit", "cursor"}
	board := []string{"order", "kind", "limit", "cursor", "around", "players", "date"}
	standing := []string{"order", "kind", "explain"}
	return []route{
		{"POST", gamePath + "/guests", players.postGuest, nil},
		{"GET", gamePath + "/nicknames/{name}", players.getNickname, nil},
		{"PUT", gamePath + "/players/me/nickname", players.putNickname, nil},
		{"DELETE", callingPlayerPath, players.deleteMe, nil},
		{"PUT", gamePath + "/players/me/account", players.putAccount, nil},
		{"PUT", gamePath + "/players/me/device", players.putDevice, nil},
		{"GET", gamePath + "/players/{player}", players.getPlayer, nil},
		{"GET", gamePath + "/players/{player}/matches", players.getHistory, page},
		{"GET", gamePath + "/matches/{match}", boards.getMatch, page},
		{"POST", gamePath + "/arenas", arenas.postArena, nil},
		{"GET", gamePath + "/arenas/{code}", arenas.getArena, nil},
		{"POST", behavioursPath, services.postBehaviours, nil},
		{"POST", tasksPath, services.postTasks, nil},
		{"POST", claimPath, services.postClaim, nil},
		{"POST", gamePath + "/tasks/renew", services.postRenew, nil},
		{"POST", gamePath + "/tasks/complete", services.postComplete, nil},
		{"POST", gamePath + "/tasks/fail", services.postFail, nil},
		{"GET", gamePath + "/tasks/{task}", services.getTask, nil},
		{"GET", gamePath + "/leaderboards", boards.getBoards, nil},
		{"GET", gamePath + "/leaderboards/{window}", boards.getBoard, board},
		{"GET", gamePath + "/leaderboards/{window}/{player}", boards.getStanding, standing},
		{"GET", "/healthz", status.getHealth, nil},
		{"GET", "/readyz", status.getReadiness, nil},
		{"GET", "/openapi.yaml", status.getOpenAPI, nil},
		{"GET", "/asyncapi.yaml", status.getAsyncAPI, nil},
	}
}

// websocketPath is the path of the websocket. Config.Websocket writes its
// responses.
const websocketPath = "/v1/ws"

// callingPlayerPath is the path of the player that the bearer token names. It
// cannot be the profile of another player, because no player has the id "me".
const callingPlayerPath = gamePath + "/players/me"
