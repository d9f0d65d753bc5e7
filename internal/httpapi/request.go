package httpapi

import (
	"net/http"
	"net/url"
	"time"

	"laststand/internal/taskqueue"
)

// request is an HTTP request for a known game; game is "" if the path has none.
// query has only the allowed parameters, each once and with a value.
type request struct {
	*http.Request
	game  string
	query url.Values
}

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

const gamePath = "/v1/games/{game}"

// websocketPath is the path of the websocket. Config.Websocket writes its
// responses.
const websocketPath = "/v1/ws"

// callingPlayerPath is the path of the player that the bearer token names. It
// cannot be the profile of another player, because no player has the id "me".
const callingPlayerPath = gamePath + "/players/me"
