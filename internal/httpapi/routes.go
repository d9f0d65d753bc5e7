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
	claimPath      = "/v1/games/{game}/tasks/claim"
	tasksPath      = "/v1/games/{game}/tasks"
	behavioursPath = "/v1/games/{game}/behaviours"
)

// largeBodyTimeout is the extra time for a body of some MiB.
const largeBodyTimeout = 15 * time.Second

// extraTimeByPath lists the paths whose requests may take longer than
// requestTimeout, with the additional time.
var extraTimeByPath = map[string]time.Duration{claimPath: taskqueue.MaxPollWait, tasksPath: largeBodyTimeout, behavioursPath: largeBodyTimeout}

// routes lists all operations except the websocket, which newMux adds.
func (a *api) routes() []route {
	const game = "/v1/games/{game}"
	page := []string{"limit", "cursor"}
	board := []string{"order", "kind", "limit", "cursor", "around", "players", "date"}
	standing := []string{"order", "kind", "explain"}
	return []route{
		{"POST", game + "/guests", a.postGuest, nil},
		{"GET", game + "/nicknames/{name}", a.getNickname, nil},
		{"PUT", game + "/players/me/nickname", a.putNickname, nil},
		{"DELETE", callingPlayerPath, a.deleteMe, nil},
		{"PUT", game + "/players/me/account", a.putAccount, nil},
		{"PUT", game + "/players/me/device", a.putDevice, nil},
		{"GET", game + "/players/{player}", a.getPlayer, nil},
		{"GET", game + "/players/{player}/matches", a.getHistory, page},
		{"GET", game + "/matches/{match}", a.getMatch, page},
		{"POST", game + "/arenas", a.postArena, nil},
		{"GET", game + "/arenas/{code}", a.getArena, nil},
		{"POST", behavioursPath, a.postBehaviours, nil},
		{"POST", tasksPath, a.postTasks, nil},
		{"POST", claimPath, a.postClaim, nil},
		{"POST", game + "/tasks/renew", a.postRenew, nil},
		{"POST", game + "/tasks/complete", a.postComplete, nil},
		{"POST", game + "/tasks/fail", a.postFail, nil},
		{"GET", game + "/tasks/{task}", a.getTask, nil},
		{"GET", game + "/leaderboards", a.getBoards, nil},
		{"GET", game + "/leaderboards/{window}", a.getBoard, board},
		{"GET", game + "/leaderboards/{window}/{player}", a.getStanding, standing},
		{"GET", "/healthz", a.getHealth, nil},
		{"GET", "/readyz", a.getReadiness, nil},
		{"GET", "/openapi.yaml", a.getOpenAPI, nil},
		{"GET", "/asyncapi.yaml", a.getAsyncAPI, nil},
	}
}

// websocketPath is the path of the websocket. Config.Websocket writes its
// responses.
const websocketPath = "/v1/ws"

// callingPlayerPath is the path of the player that the bearer token names. It
// cannot be the profile of another player, because no player has the id "me".
const callingPlayerPath = "/v1/games/{game}/players/me"
