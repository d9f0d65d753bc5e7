package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

func TestAPlayerErasesItself(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{}
	h := New(configOf(w))
	erase := call{method: "DELETE", target: demo + "/players/me", headers: []string{"Authorization: Bearer account"}}
	if rec := serve(t, h, erase); rec.Code != http.StatusNoContent || rec.Body.Len() > 0 || !w.erased["p_1"] {
		t.Errorf("%d %s, erased: %v", rec.Code, rec.Body, w.erased)
	}
	for _, after := range []struct {
		call   call
		status int
	}{
		{erase, 401},
		{send("PUT", demo+"/players/me/nickname", `{"nickname":"Ada"}`, bearerGood), 401},
		{send("POST", demo+"/arenas", newArena, bearerGood), 401},
		{get(demo + "/players/p_1"), 404},
		{get(demo + "/players/p_1/matches"), 404},
	} {
		if rec := serve(t, h, after.call); rec.Code != after.status {
			t.Errorf("%s %s: %d %s", after.call.method, after.call.target, rec.Code, rec.Body)
		}
	}
	for _, match := range []string{"m_1", "m_teams"} {
		rec := serve(t, h, get(demo+"/matches/"+match))
		if strings.Contains(rec.Body.String(), "Ada") || strings.Contains(rec.Body.String(), "Nick p_1") ||
			!strings.Contains(rec.Body.String(), `"player":"p_1","nickname":""`) || !strings.Contains(rec.Body.String(), "Nick p_2") {
			t.Errorf("%s shows %s", match, rec.Body)
		}
	}
}

func TestAGuestIsLinkedToAnAccount(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{}
	tie := send("PUT", demo+"/players/me/account", `{"token":"theirs"}`, bearerGood)
	rec := serve(t, New(configOf(w)), tie)
	if want := `{"player_id":"p_1","account":"op:1"}`; rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != want {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if w.tying.Token != "theirs" || w.tying.Guest.Subject != "p_1" || w.tying.Guest.Game != "demo" {
		t.Errorf("the service was asked for %+v", w.tying)
	}
	for _, tt := range []struct {
		fail   error
		status int
		code   protocol.Code
	}{
		{fmt.Errorf("%w: %w", identity.ErrBadAccount, identity.ErrTokenExpired), 400, protocol.CodeBadRequest},
		{&identity.BannedError{Reason: "x"}, 403, protocol.CodeForbidden},
		{fmt.Errorf("ledger: %w: it is another guest's", identity.ErrAccountTaken), 409, protocol.CodeAccountTaken},
		{identity.ErrNotGuest, 409, protocol.CodeAccountTaken},
		{identity.ErrErased, 401, protocol.CodeUnauthorized},
		{errStore, 503, protocol.CodeUnavailable},
		{errors.New("a defect"), 500, protocol.CodeInternal},
	} {
		rec := serve(t, New(configOf(&fakeBackend{fail: tt.fail})), tie)
		if p := problemIn(t, rec.Body.Bytes()); rec.Code != tt.status || p.Code != tt.code {
			t.Errorf("%v: %d %s", tt.fail, rec.Code, rec.Body)
		}
	}
}

func TestADeviceSecretIsReplaced(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{}
	rotate := send("PUT", demo+"/players/me/device", `{"device":"`+device+`","new_device":"`+device+`2"}`, "Authorization: Bearer account")
	if rec := serve(t, New(configOf(w)), rotate); rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != `{"player_id":"p_1"}` {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if want := (identity.DeviceChange{Game: "demo", Player: "p_1", OldSecret: device, NewSecret: device + "2"}); w.device != want {
		t.Errorf("the service was asked for %+v", w.device)
	}
	for fail, want := range map[error]protocol.Code{
		identity.ErrWrongDevice: protocol.CodeForbidden,
		identity.ErrBadDevice:   protocol.CodeBadRequest,
		identity.ErrErased:      protocol.CodeUnauthorized,
		errStore:                protocol.CodeUnavailable,
	} {
		rec := serve(t, New(configOf(&fakeBackend{fail: fail})), rotate)
		if p := problemIn(t, rec.Body.Bytes()); p.Code != want {
			t.Errorf("%v: %d %s", fail, rec.Code, rec.Body)
		}
	}
	for body, status := range map[string]int{
		`{"device":"` + device + `"}`: 400,
		`{"device":"` + device + `","new_device":"` + strings.Repeat("x", maxGuestBody) + `"}`: 413,
	} {
		if rec := serve(t, New(configOf(w)), send("PUT", demo+"/players/me/device", body, bearerGood)); rec.Code != status {
			t.Errorf("%.60s: %d", body, rec.Code)
		}
	}
	e := newLimitedServer(t, Limits{Changes: twoPerHour("changes")})
	e.wantStatus(rotate, 200)
	e.wantStatus(rotate, 200)
	e.wantLimited(rotate, "changes", half)
}

// The number of players who erase themselves is limited per address. A refused player is not erased.
func TestErasuresPerAddressAreLimited(t *testing.T) {
	t.Parallel()
	e := newLimitedServer(t, Limits{Erasures: twoPerHour("players who erase themselves")})
	erase := call{method: "DELETE", target: demo + "/players/me", headers: []string{bearerGood}}
	for range 2 {
		e.wantStatus(erase, 204)
		e.backend.erased = nil // for the next call
	}
	if e.wantLimited(erase, "players who erase themselves", half); e.backend.erased["p_1"] {
		t.Error("the refused player is erased")
	}
}
