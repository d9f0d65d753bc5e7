package ops

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"laststand/internal/protocol"
)

// route is one operation of the admin API. query lists the allowed query parameters; the
// API refuses all others. A sensitive route reads data of players or of the process. The
// audit log gets an entry of it, as of a change.
type route struct {
	method, path string
	handle       handler
	query        []string
	sensitive    bool
	summary      string // one sentence for docs/reference/admin.md
}

// isRead returns true if the route changes nothing.
func (rt route) isRead() bool { return rt.method == http.MethodGet || rt.sensitive }

// isAudited returns true if the audit log gets an entry of each request.
func (rt route) isAudited() bool { return rt.method != http.MethodGet || rt.sensitive }

// Operation is the description of an operation of the admin API, for the reference.
type Operation struct {
	Method, Path string
	Query        []string // parameters
	IsAudited    bool     // the audit log gets an entry of each request
	Summary      string
}

// Operations lists the whole admin API.
func Operations() []Operation {
	var list []Operation
	for _, route := range new(api).routes() {
		list = append(list, Operation{route.method, route.path, route.query, route.isAudited(), route.summary})
	}
	return list
}

// routes lists the whole admin API.
func (a *api) routes() []route {
	const tasks, game = "/admin/v1/tasks", "/admin/v1/games/{game}"
	return []route{
		{"GET", tasks, a.getTasks, []string{"game", "topic", "key", "state", "limit", "cursor"}, false, "List tasks, newest first, without payloads."},
		{"POST", tasks + "/requeue", a.requeueTasks, nil, false, "Requeue up to 20 dead tasks of `game` and `topic`, oldest first; repeat with `cursor`."},
		{"POST", tasks + "/discard", a.discardTasks, nil, false, "Discard up to 20 dead tasks of `game` and `topic`, oldest first; repeat with `cursor`."},
		{"GET", tasks + "/{task}", a.getTask, nil, true, "Return a task with its payload and errors."},
		{"PUT", tasks + "/{task}/payload", a.putPayload, nil, false, "Replace the payload of a task; the body is the JSON payload."},
		{"POST", tasks + "/{task}/requeue", a.requeueTask, nil, false, "Requeue a task and return it."},
		{"POST", tasks + "/{task}/discard", a.discardTask, nil, false, "Discard a task and return it."},
		{"GET", "/admin/v1/task-queues", a.getTaskQueues, []string{"kind", "topic", "busy", "limit", "cursor"}, false, "List task queues by topic and priority."},
		{"GET", game + "/leaderboards/verify", a.verifyLeaderboards, nil, false, "Compare the leaderboards with the ledger: a line of JSON per difference, last `verified` or `error`."},
		{"POST", game + "/leaderboards/rebuild", a.rebuildLeaderboards, nil, false, "Start to rebuild the leaderboards: 202."},
		{"GET", game + "/leaderboards/rebuild", a.getRebuild, nil, false, "Report whether a rebuild is running."},
		{"POST", game + "/corrections", a.postCorrection, nil, false, "Take back what `match` gave `player`, or all players, for a `reason`."},
		{"PUT", game + "/days/{day}/confirmation", a.confirmDay, nil, false, "Confirm that a day may begin."},
		{"GET", "/admin/v1/queues", a.getQueues, []string{"limit", "cursor"}, false, "List the behaviour queues of all games."},
		{"GET", game + "/queue", a.getQueue, nil, false, "Return the behaviour queue of a game."},
		{"GET", game + "/queue/items", a.getQueueItems, []string{"limit"}, true, "Return the oldest behaviours of a queue, and leave them there."},
		{"POST", game + "/queue/pause", a.pauseQueue, nil, false, "Pause the reporting of a game for a `reason`."},
		{"POST", game + "/queue/resume", a.resumeQueue, nil, false, "Resume the reporting of a game."},
		{"POST", game + "/queue/drain", a.drainQueue, nil, false, "Send all queued behaviours now, or drop them with `discard`; returns after 20 s at the latest."},
		{"PATCH", game + "/queue", a.patchQueue, nil, false, "Set `max_len` of a queue at all nodes; 0: the configured length."},
		{"GET", "/admin/v1/audit-log", a.getAuditLog, []string{"game", "actor", "limit", "cursor"}, false, "List the audit log, newest first."},
		{"GET", game + "/bans", a.getBans, []string{"limit", "cursor"}, false, "List bans, newest first."},
		{"PUT", game + "/bans/{player}", a.putBan, nil, false, "Ban a player for a `reason`, until `expires_at` if given."},
		{"DELETE", game + "/bans/{player}", a.deleteBan, nil, false, "Remove a ban."},
		{"GET", game + "/revocations", a.getRevocations, []string{"kind", "limit", "cursor"}, false, "List revocations, newest first."},
		{"PUT", game + "/revocations/{kind}/{id}", a.putRevocation, nil, false, "Revoke a token, or all tokens of a subject."},
		{"DELETE", game + "/revocations/{kind}/{id}", a.deleteRevocation, nil, false, "Remove a revocation."},
		{"GET", "/admin/v1/revocations", a.getRevocations, []string{"kind", "limit", "cursor"}, false, "List revocations of admin tokens."},
		{"PUT", "/admin/v1/revocations/{kind}/{id}", a.putRevocation, nil, false, "Revoke admin tokens."},
		{"DELETE", "/admin/v1/revocations/{kind}/{id}", a.deleteRevocation, nil, false, "Remove a revocation of admin tokens."},
		{"GET", game + "/players", a.findPlayer, []string{"nickname"}, true, "Find the player of a nickname, or of one that looks like it."},
		{"DELETE", game + "/players/{player}", a.deletePlayer, nil, false, "Erase a player."},
		{"POST", game + "/players/{player}/device", a.resetDevice, nil, false, "Give a guest a new device secret: 201. The answer is the only place that shows it."},
		{"DELETE", game + "/players/{player}/account", a.unlinkAccount, nil, false, "Unlink a guest from its account."},
		{"GET", game + "/keys", a.getKeys, nil, false, "List the signing keys of a game, without secrets."},
		{"POST", game + "/keys/rotate", a.rotateKey, nil, false, "Create a key that signs after 10 s."},
		{"DELETE", game + "/keys/{key}", a.retireKey, nil, false, "Retire a key."},
		{"GET", "/admin/v1/keys", a.getKeys, nil, false, "List the server's own signing keys, without secrets."},
		{"POST", "/admin/v1/keys/rotate", a.rotateKey, nil, false, "Create a key of the server's own that signs after 10 s."},
		{"DELETE", "/admin/v1/keys/{key}", a.retireKey, nil, false, "Retire a key of the server's own."},
		{"GET", "/admin/v1/webhooks", a.getWebhooks, nil, false, "List the webhooks of all games."},
		{"POST", game + "/webhooks/{webhook}/ping", a.pingWebhook, nil, false, "Send a test event to a webhook and return its status."},
		{"POST", game + "/webhooks/{webhook}/enable", a.enableWebhook, nil, false, "Enable a webhook."},
		{"POST", game + "/webhooks/{webhook}/disable", a.disableWebhook, nil, false, "Disable a webhook for a `reason`."},
	}
}

// request is a request with a valid admin token. The game of its path exists; it is "" if
// the path has none. query has only the parameters that the route allows.
type request struct {
	*http.Request
	actor string // subject of the token
	game  string
	query url.Values
}

type handler func(http.ResponseWriter, *request) error

// operationHandler returns a handler that parses the query of a route and then calls the
// route's handler. Requests of an audited route are written to the audit log.
func (a *api) operationHandler(route route) handler {
	return func(w http.ResponseWriter, r *request) (err error) {
		if r.query, err = protocol.ReadQuery(r.URL, route.query); err != nil {
			return err
		}
		if route.isAudited() {
			return a.handleAudited(route, w, r)
		}
		return route.handle(w, r)
	}
}

// requireAdmin returns a handler that refuses requests without a valid admin token.
func (a *api) requireAdmin(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := a.authenticateAndHandle(w, r, handle); err != nil {
			a.writeError(w, r, err)
		}
	})
}

func (a *api) authenticateAndHandle(w http.ResponseWriter, r *http.Request, handle handler) error {
	actor, err := a.adminSubject(r)
	if err != nil {
		return err
	}
	game := r.PathValue("game")
	if game != "" && !slices.Contains(a.Games, game) {
		return newAPIError(protocol.CodeNotFound, "game %q is not configured; there are: %s", game, strings.Join(a.Games, ", "))
	}
	return handle(w, &request{Request: r, actor: actor, game: game})
}

// adminSubject returns the subject of a request's token of the role admin.
func (a *api) adminSubject(r *http.Request) (string, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ok {
		subject, err := a.VerifyAdmin(r.Context(), token)
		if err == nil || a.IsStoreDown(err) {
			return subject, err
		}
	}
	return "", newAPIError(protocol.CodeUnauthorized, "an admin token signed with the server's own key is required; see `server token --help`")
}

func notFound(http.ResponseWriter, *request) error {
	return newAPIError(protocol.CodeNotFound, "no such path or method; see docs/reference/admin.md for the admin API")
}
