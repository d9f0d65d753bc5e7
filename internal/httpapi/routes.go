package httpapi

import (
	"net/http"
	"time"

	"laststand/internal/taskqueue"
)

// route is one operation of the contract. Query names the parameters that it
// takes; any other is refused.
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

// largeWithin is how much longer a service may take to send a body of some MiB.
const largeWithin = 15 * time.Second

// patience is what a path may take beyond callWithin.
var patience = map[string]time.Duration{claimPath: taskqueue.MaxWait, tasksPath: largeWithin, behavioursPath: largeWithin}

// routes is the whole API but for the websocket, see mount.
func (a *api) routes() []route {
	const game = "/v1/games/{game}"
	page := []string{"limit", "cursor"}
	board := []string{"order", "kind", "limit", "cursor", "around", "players", "date"}
	standing := []string{"order", "kind", "explain"}
	return []route{
		{"POST", game + "/guests", a.postGuest, nil},
		{"GET", game + "/nicknames/{name}", a.getNickname, nil},
		{"PUT", game + "/players/me/nickname", a.putNickname, nil},
		{"DELETE", mePath, a.deleteMe, nil},
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

// websocketPath is the websocket's route; its handler speaks for itself.
const websocketPath = "/v1/ws"

// mePath is nobody's profile: no player has the id.
const mePath = "/v1/games/{game}/players/me"
