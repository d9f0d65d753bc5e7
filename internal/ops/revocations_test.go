package ops

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/nickname"
)

const (
	demoBans        = "/admin/v1/games/demo/bans"
	demoRevocations = "/admin/v1/games/demo/revocations"
)

// fakeRevocations stores bans, revocations and keys in memory.
type fakeRevocations struct {
	*fakeBackend
	revocations []identity.Revocation // the last change first
	erased      string
	keys        map[string][]identity.KeyInfo
}

func newFakeRevocations(backend *fakeBackend) *fakeRevocations {
	return &fakeRevocations{fakeBackend: backend, keys: map[string][]identity.KeyInfo{
		"": {{ID: "own", Alg: identity.HS256, Signs: true}}, "demo": {{ID: "k1", Alg: identity.HS256, Signs: true, CreatedAt: 7}},
	}}
}

func (r *fakeRevocations) SetRevocation(_ context.Context, revocation identity.Revocation) (identity.Revocation, error) {
	if r.fail == nil {
		revocation.ChangedAt, revocation.Seq = testTime, int64(len(r.revocations)+1)
		r.revocations = append([]identity.Revocation{revocation}, r.revocations...)
	}
	return revocation, r.fail
}

func (r *fakeRevocations) LiftRevocation(_ context.Context, revocation identity.Revocation) error {
	before := len(r.revocations)
	r.revocations = slices.DeleteFunc(r.revocations, func(o identity.Revocation) bool { return o.Kind == revocation.Kind && o.ID == revocation.ID })
	if r.fail == nil && len(r.revocations) == before {
		return identity.ErrNotRevoked
	}
	return r.fail
}

func (r *fakeRevocations) ListRevocations(_ context.Context, _ string, kind identity.RevocationKind, before int64, limit int) (page []identity.Revocation, _ error) {
	for _, revocation := range r.revocations {
		if (revocation.Kind == kind || kind == "" && revocation.Kind != identity.KindBan) && (before == 0 || revocation.Seq < before) && len(page) < limit {
			page = append(page, revocation)
		}
	}
	return page, r.fail
}

func (r *fakeRevocations) Erase(_ context.Context, game, player string) error {
	if player == "p_9" {
		return identity.ErrNotFound
	}
	r.erased = game + "/" + player
	return r.fail
}

func (r *fakeRevocations) ResetDevice(_ context.Context, _, id string) (player, device string, err error) {
	if id == "op:1" {
		return "", "", identity.ErrNotGuest
	}
	return id, "new-device-of-" + id, r.fail
}

func (r *fakeRevocations) UnlinkAccount(_ context.Context, _, id string) (string, error) {
	if id == "p_9" {
		return "", identity.ErrNoAccount
	}
	return "op:1", r.fail
}

func (r *fakeRevocations) PlayerNamed(_ context.Context, _, name string) (identity.Player, error) {
	switch name {
	case "":
		return identity.Player{}, nickname.ErrInvalid
	case "ada":
		return identity.Player{ID: "p_1", Nickname: "Ada"}, r.fail
	}
	return identity.Player{}, identity.ErrNotFound
}

func (r *fakeRevocations) ListKeys(game string) []identity.KeyInfo { return r.keys[game] }

func (r *fakeRevocations) RotateKey(_ context.Context, game string) (identity.KeyInfo, error) {
	if r.fail != nil {
		return identity.KeyInfo{}, r.fail
	}
	created := identity.KeyInfo{ID: "k2", Alg: identity.HS256, CreatedAt: 8}
	r.keys[game] = append(r.keys[game], created)
	return created, nil
}

func (r *fakeRevocations) RetireKey(_ context.Context, game, id string) error {
	if id == "k9" {
		return identity.ErrNoKey
	}
	r.keys[game] = slices.DeleteFunc(r.keys[game], func(k identity.KeyInfo) bool { return k.ID == id })
	return r.fail
}

// withRevocations returns a fakeRevocations and the handler that uses it.
func (backend *fakeBackend) withRevocations() (*fakeRevocations, http.Handler) {
	c := backend.config()
	revocations := newFakeRevocations(backend)
	c.Revocations, c.Players, c.Keys = revocations, revocations, revocations
	return revocations, New(c)
}

func TestBansAndRevocationsAreSetListedAndRemoved(t *testing.T) {
	t.Parallel()
	revocations, handler := newFakeBackend().withRevocations()
	for _, step := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", demoBans, "", 200, `{"bans":[]}`},
		{"GET", demoRevocations, "", 200, `{"revocations":[]}`},
		{"PUT", demoRevocations + "/subject/p_2", `{"reason":"a lost phone","issued_before":1000}`, 200, `"issued_before":1000}`},
		{"PUT", demoBans + "/p_1", `{"reason":"two accounts"}`, 200, `{"player":"p_1","reason":"two accounts","created_by":"ops","created_at":`},
		{"PUT", demoBans + "/p_3", `{"reason":"x","expires_at":9999999999999}`, 200, `"expires_at":9999999999999}`},
		{"PUT", demoRevocations + "/token/t:1", `{"reason":"x","expires_at":9999999999999}`, 200, `"expires_at":9999999999999}`},
		{"GET", demoBans + "?limit=1", "", 200, `"next_cursor":"3"}`},
		{"GET", demoBans + "?limit=1&cursor=3", "", 200, `{"bans":[{"player":"p_1",`},
		{"GET", demoRevocations + "?limit=1", "", 200, `{"revocations":[{"kind":"token","id":"t:1",`},
		{"GET", demoRevocations + "?limit=1&cursor=4", "", 200, `{"revocations":[{"kind":"subject","id":"p_2",`},
		{"GET", demoRevocations + "?kind=token", "", 200, `{"revocations":[{"kind":"token","id":"t:1",`},
		{"DELETE", demoBans + "/p_1", "", 204, ""},
		{"DELETE", demoBans + "/p_1", "", 404, "not banned or revoked"},
		{"PUT", "/admin/v1/revocations/subject/ops", `{"reason":"a lost laptop"}`, 200, `{"kind":"subject","id":"ops",`},
		{"PUT", "/admin/v1/revocations/token/t:2", `{"reason":"leaked"}`, 200, `{"kind":"token","id":"t:2",`},
		{"GET", "/admin/v1/revocations?kind=subject", "", 200, `"id":"ops"`},
		{"DELETE", "/admin/v1/revocations/token/t:2", "", 204, ""},
		{"GET", "/admin/v1/games/demo/players?nickname=ada", "", 200, `{"player_id":"p_1","nickname":"Ada"}`},
		{"GET", "/admin/v1/games/demo/players?nickname=eve", "", 404, "no such player"},
		{"GET", "/admin/v1/games/demo/players", "", 400, "nickname"},
		{"POST", "/admin/v1/games/demo/players/p_1/device", "", 201, `{"player_id":"p_1","device":"new-device-of-p_1"}`},
		{"POST", "/admin/v1/games/demo/players/op:1/device", "", 409, "only a guest"},
		{"DELETE", "/admin/v1/games/demo/players/p_1/account", "", 200, `{"account":"op:1"}`},
		{"DELETE", "/admin/v1/games/demo/players/p_9/account", "", 404, "not linked"},
		{"DELETE", "/admin/v1/games/demo/players/p_1", "", 204, ""},
		{"DELETE", "/admin/v1/games/demo/players/p_9", "", 404, "no such player"},
	} {
		status, _, body := adminRequest(t, handler, step.method, step.path, step.body)
		if status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s %s: %d %s, want %d %s", step.method, step.path, status, body, step.status, step.want)
		}
	}
	if len(revocations.revocations) != 4 || revocations.revocations[0].SetBy != "ops" || revocations.revocations[0].Game != "" || revocations.revocations[1].Game != "demo" || revocations.erased != "demo/p_1" {
		t.Errorf("stored %+v, erased %q", revocations.revocations, revocations.erased)
	}
}

func TestKeysAreListedRotatedAndRetired(t *testing.T) {
	t.Parallel()
	revocations, handler := newFakeBackend().withRevocations()
	for _, step := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/admin/v1/games/demo/keys", 200, `{"keys":[{"id":"k1","alg":"HS256","signs":true,"created_at":7}]}`},
		{"POST", "/admin/v1/games/demo/keys/rotate", 201, `{"id":"k2","alg":"HS256","signs":false,"created_at":8}`},
		{"DELETE", "/admin/v1/games/demo/keys/k1", 204, ""},
		{"DELETE", "/admin/v1/games/demo/keys/k9", 404, "no such key"},
		{"GET", "/admin/v1/keys", 200, `"id":"own"`},
		{"POST", "/admin/v1/keys/rotate", 201, `"id":"k2"`},
		{"DELETE", "/admin/v1/keys/own", 204, ""},
	} {
		status, _, body := adminRequest(t, handler, step.method, step.path, "")
		if status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s %s: %d %s, want %d %s", step.method, step.path, status, body, step.status, step.want)
		}
	}
	if len(revocations.keys[""]) != 1 || len(revocations.keys["demo"]) != 1 || revocations.keys["demo"][0].ID != "k2" {
		t.Errorf("keys %+v", revocations.keys)
	}
}

func TestBadChangesOfBansRevocationsAndKeysAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method, path, body string
		fail               error
		status             int
	}{
		"no reason":             {"PUT", demoBans + "/p_1", `{}`, nil, 400},
		"an empty reason":       {"PUT", demoBans + "/p_1", `{"reason":""}`, nil, 400},
		"a banned admin":        {"PUT", "/admin/v1/bans/ops", `{"reason":"x"}`, nil, 404},
		"a ban as a revocation": {"PUT", demoRevocations + "/ban/p_1", `{"reason":"x"}`, nil, 400},
		"another kind":          {"PUT", demoRevocations + "/erased/p_1", `{"reason":"x"}`, nil, 400},
		"a bad id":              {"PUT", demoBans + "/p%201", `{"reason":"x"}`, nil, 400},
		"in the past":           {"PUT", demoBans + "/p_1", `{"reason":"x","expires_at":1}`, nil, 400},
		"unknown field":         {"PUT", demoBans + "/p_1", `{"reason":"x","for":"1h"}`, nil, 400},
		"no game":               {"PUT", "/admin/v1/games/other/bans/p_1", `{"reason":"x"}`, nil, 404},
		"removing another kind": {"DELETE", demoRevocations + "/linked/p_1", "", nil, 400},
		"an unknown kind":       {"GET", demoRevocations + "?kind=x", "", nil, 400},
		"cursor":                {"GET", demoBans + "?cursor=x", "", nil, 400},
		"limit":                 {"GET", demoBans + "?limit=0", "", nil, 400},
		"down":                  {"PUT", demoBans + "/p_1", `{"reason":"x"}`, errDown, 503},
		"list while down":       {"GET", demoBans, "", errDown, 503},
		"erase while down":      {"DELETE", "/admin/v1/games/demo/players/p_1", "", errDown, 503},
		"keys from files":       {"POST", "/admin/v1/games/demo/keys/rotate", "", identity.ErrConfiguredKeys, 409},
		"too many keys":         {"POST", "/admin/v1/keys/rotate", "", identity.ErrTooManyKeys, 409},
		"the last key":          {"DELETE", "/admin/v1/keys/own", "", identity.ErrKeyInUse, 409},
	} {
		backend := newFakeBackend()
		backend.fail = tt.fail
		_, handler := backend.withRevocations()
		if status, _, body := adminRequest(t, handler, tt.method, tt.path, tt.body); status != tt.status {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}
