package httpapi

import (
	"net/http"
	"net/url"
	"time"

	"laststand/docs"
	"laststand/internal/httpserver"
	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// request is an HTTP request for a known game; game is "" if the path has none.
// query has only the allowed parameters, each once and with a value.
type request struct {
	*http.Request
	w     http.ResponseWriter
	game  string
	query url.Values
}

// maxBody is the default maximum size of a request body in bytes.
const maxBody = 1 << 20

// readBody decodes a JSON object into target, a pointer to a struct. Like the
// websocket it refuses unknown fields, fields whose names differ only in upper
// and lower case, and values of a wrong type. The error names the field.
func (r *request) readBody(target any) error { return r.readBodyLimited(maxBody, target) }

// readBodyLimited is readBody with a maximum size in bytes.
func (r *request) readBodyLimited(maxBytes int64, target any) error {
	body, err := httpserver.ReadJSON(r.w, r.Request, maxBytes)
	if err != nil {
		return err
	}
	return decodeBody(body, target)
}

func decodeBody(body []byte, target any) error {
	return protocol.Request{Type: "the body", Data: body}.Decode(target)
}

// handler carries out a request and returns the response; see httpserver.Respond.
type handler func(*request) (response any, err error)

// route is one operation of the contract. query lists the allowed query
// parameters. The server refuses all others.
type route struct {
	method, path string
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
}

func (a admission) needsSlot() bool { return a.extraTime == 0 && !a.isHealthCheck }

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
		{"GET", gamePath + "/matches/{match}", boards.getMatch, page, reading},
		{"POST", gamePath + "/arenas", arenas.postArena, nil, admission{shedKind: overload.Joining}},
		{"GET", gamePath + "/arenas/{code}", arenas.getArena, nil, admission{rule: a.Limits.Reads}},
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
