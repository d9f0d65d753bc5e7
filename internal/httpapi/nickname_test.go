package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"laststand/internal/identity"
)

// countingGuests counts the calls of Ensure.
type countingGuests struct {
	*fakeBackend
	ensureCalls int
}

func (g *countingGuests) Ensure(ctx context.Context, c identity.Claims) (identity.Player, error) {
	g.ensureCalls++
	return g.fakeBackend.Ensure(ctx, c)
}

// A change of the nickname resolves the player once.
func TestPutNicknameResolvesThePlayerOnce(t *testing.T) {
	t.Parallel()
	guests := &countingGuests{fakeBackend: &fakeBackend{}}
	c := newTestConfig(guests.fakeBackend)
	c.Guests = guests
	rec := serve(t, New(c), jsonCall(http.MethodPut, demoPath+"/players/me/nickname", `{"nickname":"Ada"}`, "Authorization: Bearer account", "Accept-Language: zh-CN"))
	if rec.Code != http.StatusOK || guests.ensureCalls != 1 || guests.requester.Lang != "zh-CN" || guests.requester.Address == "" {
		t.Errorf("%d %s, Ensure was called %d times; the requester is %+v", rec.Code, rec.Body, guests.ensureCalls, guests.requester)
	}
}

// A node that is too old for the current nickname rules refers clients to
// another node.
func TestAnOutdatedNodeRefusesNicknames(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{fail: fmt.Errorf("ledger: %w", identity.ErrOldRules)}
	for _, c := range []call{
		jsonCall(http.MethodPost, demoPath+"/guests", `{"device":"`+device+`"}`),
		jsonCall(http.MethodPut, demoPath+"/players/me/nickname", `{"nickname":"Ada"}`, "Authorization: Bearer good"),
		getCall(demoPath + "/nicknames/Ada"),
	} {
		rec := serve(t, New(newTestConfig(backend)), c)
		if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || !strings.Contains(rec.Body.String(), `"code":"unavailable"`) ||
			!strings.Contains(rec.Body.String(), "another one answers") {
			t.Errorf("%s %s: %d %s", c.method, c.target, rec.Code, rec.Body)
		}
	}
}
