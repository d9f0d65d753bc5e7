package stress

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"laststand/internal/testenv"
)

// operatorsOnly maps paths of the operations listener to a text that proves that the
// server served them.
var operatorsOnly = map[string]string{
	"/metrics": "laststand_", "/debug/pprof/": "profile", "/debug/pprof/heap?debug=1": "heap profile", "/debug/pprof/cmdline": "--listen",
	"/debug/vars": "cmdline", "/admin/": "tasks", "/admin/v1/tasks": `"tasks"`, "/admin/v1/queues": `"queues"`, "/admin/v1/webhooks": `"webhooks"`,
	"/admin/v1/games/demo/queue/items": `"behaviours"`, "//admin/v1/tasks": `"tasks"`, "/v1/../admin/v1/tasks": `"tasks"`, "/v1/games/demo/../../../metrics": "laststand_",
	"/%61dmin/v1/tasks": `"tasks"`, "/Admin/v1/tasks": `"tasks"`, "/.env": "SECRET", "/.git/config": "[core]", "/load.yaml": "games:", "/load.key": "secret",
}

// asHosts are host headers that a careless server takes for its own.
var asHosts = []string{"", "127.0.0.1:8081", "localhost"}

// askForAdmin requests the operators' endpoints from both listeners. It does so without
// a token, as a player, and as an admin with a forged token.
func askForAdmin(ctx context.Context, a *attacker) {
	paths := slices.Sorted(maps.Keys(operatorsOnly))
	admin := object{"role": "admin", "game": nil, "sub": "root"}
	good := with(playerClaims("demo", "bad_admin"), admin)
	byGame, _ := testenv.Sign(good) // texts and numbers always encode
	tokens := []string{"", a.token("bad_admin"), byGame, unsigned(headerOf("none", testenv.KeyID), good) + ".", signed(headerOf("HS256", "server"), good, []byte("admin"))}
	a.repeat(ctx, 16, len(paths)*len(tokens), func(ctx context.Context, worker, n int) {
		header := http.Header{"X-Forwarded-For": {"127.0.0.1"}, "X-Original-Url": {"/admin/v1/tasks"}}
		if token := tokens[n%len(tokens)]; token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
		path := paths[n/len(tokens)%len(paths)]
		got := a.ask(ctx, worker, call{method: "GET", path: path, header: header, host: asHosts[n%len(asHosts)]})
		if got.status == http.StatusOK && strings.Contains(got.body, operatorsOnly[path]) {
			a.violation("the players' address serves %s", path)
		}
		if n%7 == 0 {
			askOperations(ctx, a, worker, header)
		}
	})
}

// askOperations makes requests to the operations listener that need the role.
func askOperations(ctx context.Context, a *attacker, worker int, header http.Header) {
	for _, c := range []call{
		{method: "GET", path: "/admin/v1/tasks"}, {method: "GET", path: "/debug/pprof/heap"},
		{method: "POST", path: "/admin/v1/games/demo/queue/drain", body: "{}"}, {method: "POST", path: "/admin/v1/games/demo/leaderboards/rebuild"},
	} {
		c.isOps, c.header = true, header
		if got := a.ask(ctx, worker, c); got.status != 0 && got.status < 400 {
			a.violation("operations serve %s %s to a client that is no admin: %d", c.method, c.path, got.status)
		}
	}
}
