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

func TestPlayersCanEraseThemselves(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	h := New(newTestConfig(backend))
	eraseCall := call{method: "DELETE", target: demoPath + "/players/me", headers: []string{"Authorization: Bearer account"}}
	if rec := serve(t, h, eraseCall); rec.Code != http.StatusNoContent || rec.Body.Len() > 0 || !backend.erased["p_1"] {
		t.Errorf("%d %s, erased: %v", rec.Code, rec.Body, backend.erased)
	}
	for _, later := range []struct {
		call   call
		status int
	}{
		{eraseCall, 401},
		{jsonCall("PUT", demoPath+"/players/me/nickname", `{"nickname":"Ada"}`, bearerGood), 401},
		{jsonCall("POST", demoPath+"/arenas", newArenaJSON, bearerGood), 401},
		{getCall(demoPath + "/players/p_1"), 404},
		{getCall(demoPath + "/players/p_1/matches"), 404},
	} {
		if rec := serve(t, h, later.call); rec.Code != later.status {
			t.Errorf("%s %s: %d %s", later.call.method, later.call.target, rec.Code, rec.Body)
		}
	}
	for _, match := range []string{"m_1", "m_teams"} {
		rec := serve(t, h, getCall(demoPath+"/matches/"+match))
		if strings.Contains(rec.Body.String(), "Ada") || strings.Contains(rec.Body.String(), "Nick p_1") ||
			!strings.Contains(rec.Body.String(), `"player":"p_1","nickname":""`) || !strings.Contains(rec.Body.String(), "Nick p_2") {
			t.Errorf("%s shows %s", match, rec.Body)
		}
	}
}

func TestAGuestIsLinkedToAnAccount(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	linkCall := jsonCall("PUT", demoPath+"/players/me/account", `{"token":"theirs"}`, bearerGood)
	rec := serve(t, New(newTestConfig(backend)), linkCall)
	if want := `{"player_id":"p_1","account":"op:1"}`; rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != want {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if backend.linkRequest.Token != "theirs" || backend.linkRequest.Guest.Subject != "p_1" || backend.linkRequest.Guest.Game != "demo" {
		t.Errorf("the service was asked for %+v", backend.linkRequest)
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
		rec := serve(t, New(newTestConfig(&fakeBackend{fail: tt.fail})), linkCall)
		if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != tt.status || p.Code != tt.code {
			t.Errorf("%v: %d %s", tt.fail, rec.Code, rec.Body)
		}
	}
}

func TestADeviceSecretIsReplaced(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	rotateCall := jsonCall("PUT", demoPath+"/players/me/device", `{"device":"`+device+`","new_device":"`+device+`2"}`, "Authorization: Bearer account")
	if rec := serve(t, New(newTestConfig(backend)), rotateCall); rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != `{"player_id":"p_1"}` {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if want := (identity.DeviceChange{Game: "demo", Player: "p_1", OldSecret: device, NewSecret: device + "2"}); backend.device != want {
		t.Errorf("the service was asked for %+v", backend.device)
	}
	for fail, want := range map[error]protocol.Code{
		identity.ErrWrongDevice: protocol.CodeForbidden,
		identity.ErrBadDevice:   protocol.CodeBadRequest,
		identity.ErrErased:      protocol.CodeUnauthorized,
		errStore:                protocol.CodeUnavailable,
	} {
		rec := serve(t, New(newTestConfig(&fakeBackend{fail: fail})), rotateCall)
		if p := decodeProblem(t, rec.Body.Bytes()); p.Code != want {
			t.Errorf("%v: %d %s", fail, rec.Code, rec.Body)
		}
	}
	for body, status := range map[string]int{
		`{"device":"` + device + `"}`: 400,
		`{"device":"` + device + `","new_device":"` + strings.Repeat("x", maxGuestBody) + `"}`: 413,
	} {
		if rec := serve(t, New(newTestConfig(backend)), jsonCall("PUT", demoPath+"/players/me/device", body, bearerGood)); rec.Code != status {
			t.Errorf("%.60s: %d", body, rec.Code)
		}
	}
	server := newLimitedServer(t, Limits{Changes: twoPerHour("changes")})
	server.wantStatus(rotateCall, 200)
	server.wantStatus(rotateCall, 200)
	server.wantLimited(rotateCall, "changes", twoPerHourWait)
}

// The number of players who erase themselves is limited per address. A refused player is not erased.
func TestErasuresPerAddressAreLimited(t *testing.T) {
	t.Parallel()
	server := newLimitedServer(t, Limits{Erasures: twoPerHour("players who erase themselves")})
	eraseCall := call{method: "DELETE", target: demoPath + "/players/me", headers: []string{bearerGood}}
	for range 2 {
		server.wantStatus(eraseCall, 204)
		server.backend.erased = nil // for the next call
	}
	if server.wantLimited(eraseCall, "players who erase themselves", twoPerHourWait); server.backend.erased["p_1"] {
		t.Error("the refused player is erased")
	}
}
