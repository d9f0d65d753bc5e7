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
	times int
}

func (a *countingGuests) Ensure(ctx context.Context, c identity.Claims) (identity.Player, error) {
	a.times++
	return a.fakeBackend.Ensure(ctx, c)
}

// A change of the nickname resolves the player once.
func TestPutNicknameResolvesThePlayerOnce(t *testing.T) {
	t.Parallel()
	w := &countingGuests{fakeBackend: &fakeBackend{}}
	c := configOf(w.fakeBackend)
	c.Guests = w
	rec := serve(t, New(c), send(http.MethodPut, demo+"/players/me/nickname", `{"nickname":"Ada"}`, "Authorization: Bearer account", "Accept-Language: zh-CN"))
	if rec.Code != http.StatusOK || w.times != 1 || w.asker.Lang != "zh-CN" || w.asker.Address == "" {
		t.Errorf("%d %s, Ensure was called %d times; the requester is %+v", rec.Code, rec.Body, w.times, w.asker)
	}
}

// A node that is too old for the current nickname rules refers clients to
// another node.
func TestAnOutdatedNodeRefusesNicknames(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{fail: fmt.Errorf("ledger: %w", identity.ErrOldRules)}
	for _, c := range []call{
		send(http.MethodPost, demo+"/guests", `{"device":"`+device+`"}`),
		send(http.MethodPut, demo+"/players/me/nickname", `{"nickname":"Ada"}`, "Authorization: Bearer good"),
		get(demo + "/nicknames/Ada"),
	} {
		rec := serve(t, New(configOf(w)), c)
		if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || !strings.Contains(rec.Body.String(), `"code":"unavailable"`) ||
			!strings.Contains(rec.Body.String(), "another one answers") {
			t.Errorf("%s %s: %d %s", c.method, c.target, rec.Code, rec.Body)
		}
	}
}
