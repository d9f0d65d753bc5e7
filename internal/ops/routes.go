package ops

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"laststand/internal/protocol"
)

// route is one operation of the admin API. Query lists its parameters; the API refuses
// any other. A sensitive read shows what players did or sent, or the inside of the
// process; the audit log has an entry of it, as of a change.
type route struct {
	method, path string
	handle       handler
	query        []string
	sensitive    bool
}

// reads reports whether the route changes nothing.
func (rt route) reads() bool { return rt.method == http.MethodGet || rt.sensitive }

// routes lists the whole admin API.
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
		{"GET", "/admin/v1/task-queues", a.getTaskQueues, []string{"kind", "topic", "busy", "limit", "cursor"}, false},
		{"GET", game + "/leaderboards/verify", a.verifyLeaderboards, nil, false},
		{"POST", game + "/leaderboards/rebuild", a.rebuildLeaderboards, nil, false},
		{"GET", game + "/leaderboards/rebuild", a.getRebuild, nil, false},
		{"POST", game + "/corrections", a.postCorrection, nil, false},
		{"PUT", game + "/days/{day}/confirmation", a.confirmDay, nil, false},
		{"GET", "/admin/v1/queues", a.getQueues, []string{"limit", "cursor"}, false},
		{"GET", game + "/queue", a.getQueue, nil, false},
		{"GET", game + "/queue/items", a.getQueueItems, []string{"limit"}, true},
		{"POST", game + "/queue/pause", a.pauseQueue, nil, false},
		{"POST", game + "/queue/resume", a.resumeQueue, nil, false},
		{"POST", game + "/queue/drain", a.drainQueue, nil, false},
		{"PATCH", game + "/queue", a.patchQueue, nil, false},
		{"GET", "/admin/v1/audit-log", a.getAuditLog, []string{"game", "actor", "limit", "cursor"}, false},
		{"GET", game + "/bans", a.getBans, []string{"limit", "cursor"}, false},
		{"PUT", game + "/bans/{player}", a.putBan, nil, false},
		{"DELETE", game + "/bans/{player}", a.deleteBan, nil, false},
		{"GET", game + "/revocations", a.getRevocations, []string{"kind", "limit", "cursor"}, false},
		{"PUT", game + "/revocations/{kind}/{id}", a.putRevocation, nil, false},
		{"DELETE", game + "/revocations/{kind}/{id}", a.deleteRevocation, nil, false},
		{"GET", "/admin/v1/revocations", a.getRevocations, []string{"kind", "limit", "cursor"}, false}, // of admin tokens
		{"PUT", "/admin/v1/revocations/{kind}/{id}", a.putRevocation, nil, false},
		{"DELETE", "/admin/v1/revocations/{kind}/{id}", a.deleteRevocation, nil, false},
		{"GET", game + "/players", a.findPlayer, []string{"nickname"}, true},
		{"DELETE", game + "/players/{player}", a.deletePlayer, nil, false},
		{"POST", game + "/players/{player}/device", a.resetDevice, nil, false},
		{"DELETE", game + "/players/{player}/account", a.unlinkAccount, nil, false},
		{"GET", game + "/keys", a.getKeys, nil, false},
		{"POST", game + "/keys/rotate", a.rotateKey, nil, false},
		{"DELETE", game + "/keys/{key}", a.retireKey, nil, false},
		{"GET", "/admin/v1/keys", a.getKeys, nil, false}, // the server's own keys
		{"POST", "/admin/v1/keys/rotate", a.rotateKey, nil, false},
		{"DELETE", "/admin/v1/keys/{key}", a.retireKey, nil, false},
		{"GET", "/admin/v1/webhooks", a.getHooks, nil, false},
		{"POST", game + "/webhooks/{webhook}/ping", a.pingHook, nil, false},
		{"POST", game + "/webhooks/{webhook}/enable", a.enableHook, nil, false},
		{"POST", game + "/webhooks/{webhook}/disable", a.disableHook, nil, false},
	}
}

// request is a request with a valid admin token. The game of its path exists, and an
// operation finds only parameters of its route in query.
type request struct {
	*http.Request
	actor string // subject of the token
	game  string
	query url.Values
}

type handler func(http.ResponseWriter, *request) error

// operation parses the query of a route for its handler. Requests that change
// something, or read something sensitive, go to the audit log.
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

// serve returns a handler that answers only requests with an admin token.
func (a *api) serve(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := a.call(w, r, handle); err != nil {
			a.fail(w, r, err)
		}
	})
}

func (a *api) call(w http.ResponseWriter, r *http.Request, handle handler) error {
	actor, err := a.subject(r)
	if err != nil {
		return err
	}
	game := r.PathValue("game")
	if game != "" && !slices.Contains(a.Games, game) {
		return refuse(protocol.CodeNotFound, "game %q is not configured; there are: %s", game, strings.Join(a.Games, ", "))
	}
	return handle(w, &request{Request: r, actor: actor, game: game})
}

// subject returns the subject of a request's token of the role admin.
func (a *api) subject(r *http.Request) (string, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ok {
		subject, err := a.Admin(r.Context(), token)
		if err == nil || a.Down(err) {
			return subject, err
		}
	}
	return "", refuse(protocol.CodeUnauthorized, "an admin token signed with the server's own key is required; see `server token --help`")
}

func nothing(http.ResponseWriter, *request) error {
	return refuse(protocol.CodeNotFound, "no such path or method; see docs/OPERATIONS.md for the admin API")
}
