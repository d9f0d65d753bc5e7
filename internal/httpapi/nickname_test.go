package httpapi

import (
	"context"
	"net/http"
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
