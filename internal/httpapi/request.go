package httpapi

import (
	"net/http"
	"net/url"
	"time"

	"laststand/internal/httpserver"
	"laststand/internal/overload"
	"laststand/internal/protocol"
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
