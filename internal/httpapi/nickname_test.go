package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"laststand/internal/identity"
)

// asked counts how often it is asked who a token speaks for.
type asked struct {
	*world
	times int
}

func (a *asked) Ensure(ctx context.Context, c identity.Claims) (identity.Player, error) {
	a.times++
	return a.world.Ensure(ctx, c)
}

// A claim of a name asks once who it is.
func TestPutNicknameAsksOnce(t *testing.T) {
	t.Parallel()
	w := &asked{world: &world{}}
	c := configOf(w.world)
	c.Guests = w
	rec := answerTo(t, New(c), send(http.MethodPut, demo+"/players/me/nickname", `{"nickname":"Ada"}`, "Authorization: Bearer account", "Accept-Language: zh-CN"))
	if rec.Code != http.StatusOK || w.times != 1 || w.who.Lang != "zh-CN" || w.who.Address == "" {
		t.Errorf("%d %s, asked %d times; by %+v", rec.Code, rec.Body, w.times, w.who)
	}
}

// A node that is older than the rules for names says that another may give one.
func TestNamesOfAnOldNode(t *testing.T) {
	t.Parallel()
	w := &world{fail: fmt.Errorf("ledger: %w", identity.ErrOldRules)}
	for _, c := range []call{
		send(http.MethodPost, demo+"/guests", `{"device":"`+device+`"}`),
		send(http.MethodPut, demo+"/players/me/nickname", `{"nickname":"Ada"}`, "Authorization: Bearer good"),
		get(demo + "/nicknames/Ada"),
	} {
		rec := answerTo(t, New(configOf(w)), c)
		if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || !strings.Contains(rec.Body.String(), `"code":"unavailable"`) ||
			!strings.Contains(rec.Body.String(), "another one answers") {
			t.Errorf("%s %s: %d %s", c.method, c.target, rec.Code, rec.Body)
		}
	}
}
