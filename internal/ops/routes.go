package ops

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"laststand/internal/protocol"
)

// route is one operation of the admin API. Query names the parameters that it
// takes; any other is refused. Sensitive reads show what players did or sent, or the
// inside of the process, and are written to the audit log as changes are.
type route struct {
	method, path string
	handle       handler
	query        []string
	sensitive    bool
}

// reads reports whether the route changes nothing.
func (rt route) reads() bool { return rt.method == http.MethodGet || rt.sensitive }

// routes is the whole admin API.
func (a *api) routes() []route {
	const tasks, game = "/admin/v1/tasks", "/admin/v1/games/{game}"
	return []route{
		{"GET", tasks, a.getTasks, []string{"game", "topic", "key", "state", "limit", "cursor"}, false},
		{"POST", tasks + "/requeue", a.requeueTasks, nil, false},
		{"POST", tasks + "/discard", a.discardTasks, nil, false},
		{"GET", tasks + "/{task}", a.getTask, nil, true},
		{"PUT", tasks + "/{task}/payload", a.putPayload, nil, false},
		{"POST", tasks + "/{task}/requeue", a.requeueTask, nil, false},
		{"POST", tasks + "/{task}/discard", a.discardTask, nil, false},
		{"GET", "/admin/v1/lines", a.getLines, []string{"kind", "topic", "busy", "limit", "cursor"}, false},
		{"GET", game + "/boards/verify", a.verifyBoards, nil, false},
		{"POST", game + "/boards/rebuild", a.rebuildBoards, nil, false},
		{"GET", game + "/boards/rebuild", a.getRebuild, nil, false},
		{"POST", game + "/corrections", a.postCorrection, nil, false},
		{"PUT", game + "/days/{day}/confirmation", a.confirmDay, nil, false},
		{"GET", "/admin/v1/queues", a.getQueues, []string{"limit", "cursor"}, false},
		{"GET", game + "/queue", a.getQueue, nil, false},
		{"GET", game + "/queue/peek", a.peekQueue, []string{"limit"}, true},
		{"POST", game + "/queue/pause", a.pauseQueue, nil, false},
		{"POST", game + "/queue/resume", a.resumeQueue, nil, false},
		{"POST", game + "/queue/drain", a.drainQueue, nil, false},
		{"PUT", game + "/queue/bound", a.boundQueue, nil, false},
		{"GET", "/admin/v1/acts", a.getActs, []string{"game", "by", "limit", "cursor"}, false},
		{"GET", game + "/bars", a.getBars, []string{"kind", "limit", "cursor"}, false},
		{"PUT", game + "/bars/{kind}/{id}", a.putBar, nil, false},
		{"DELETE", game + "/bars/{kind}/{id}", a.deleteBar, nil, false},
		{"GET", "/admin/v1/bars", a.getBars, []string{"kind", "limit", "cursor"}, false}, // of admins' tokens
		{"PUT", "/admin/v1/bars/{kind}/{id}", a.putBar, nil, false},
		{"DELETE", "/admin/v1/bars/{kind}/{id}", a.deleteBar, nil, false},
		{"GET", game + "/players", a.findPlayer, []string{"nickname"}, true},
		{"DELETE", game + "/players/{player}", a.deletePlayer, nil, false},
		{"POST", game + "/players/{player}/device", a.resetDevice, nil, false},
		{"DELETE", game + "/players/{player}/account", a.untiePlayer, nil, false},
		{"GET", game + "/keys", a.getKeys, nil, false},
		{"POST", game + "/keys/rotate", a.rotateKey, nil, false},
		{"DELETE", game + "/keys/{key}", a.retireKey, nil, false},
		{"GET", "/admin/v1/keys", a.getKeys, nil, false}, // the server's own
		{"POST", "/admin/v1/keys/rotate", a.rotateKey, nil, false},
		{"DELETE", "/admin/v1/keys/{key}", a.retireKey, nil, false},
		{"GET", "/admin/v1/webhooks", a.getHooks, nil, false},
		{"POST", game + "/webhooks/{webhook}/ping", a.pingHook, nil, false},
		{"POST", game + "/webhooks/{webhook}/enable", a.enableHook, nil, false},
		{"POST", game + "/webhooks/{webhook}/disable", a.disableHook, nil, false},
	}
}

// request is one of the role admin, whose game is known where its path has one
// and whose query, in an operation, holds nothing that its route does not take.
type request struct {
	*http.Request
	by    string // whom the token speaks for
	game  string
	query url.Values
}

type handler func(http.ResponseWriter, *request) error

// operation reads the query of a route for its handler. What changes something,
// or reads something sensitive, is an act.
func (a *api) operation(rt route) handler {
	return func(w http.ResponseWriter, r *request) (err error) {
		if r.query, err = protocol.ReadQuery(r.URL, rt.query); err != nil {
			return err
		}
		if rt.method == http.MethodGet && !rt.sensitive {
			return rt.handle(w, r)
		}
		return a.audited(rt, w, r)
	}
}

// serve makes a handler that answers admins only.
func (a *api) serve(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := a.call(w, r, handle); err != nil {
			a.fail(w, r, err)
		}
	})
}

func (a *api) call(w http.ResponseWriter, r *http.Request, handle handler) error {
	by, err := a.subject(r)
	if err != nil {
		return err
	}
	game := r.PathValue("game")
	if game != "" && !slices.Contains(a.Games, game) {
		return refuse(protocol.CodeNotFound, "there is no game %q here; there are: %s", game, strings.Join(a.Games, ", "))
	}
	return handle(w, &request{Request: r, by: by, game: game})
}

// subject is whom a request's token of the role admin speaks for.
func (a *api) subject(r *http.Request) (string, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ok {
		by, err := a.Admin(r.Context(), token)
		if err == nil || a.Down(err) {
			return by, err
		}
	}
	return "", refuse(protocol.CodeUnauthorized, "this needs a token of the role admin, signed with the server's own key: see `server token --help`")
}

func nothing(http.ResponseWriter, *request) error {
	return refuse(protocol.CodeNotFound, "there is nothing at this path, or not by this method; docs/OPERATIONS.md lists what there is")
}
