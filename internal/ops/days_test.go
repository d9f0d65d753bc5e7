package ops

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A day is confirmed and written to the audit log. An invalid date is refused.
func TestADayIsConfirmed(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/admin/v1/games/demo/days/2026-11-22/confirmation": http.StatusNoContent,
		"/admin/v1/games/demo/days/tomorrow/confirmation":   http.StatusBadRequest,
		"/admin/v1/games/none/days/2026-11-22/confirmation": http.StatusNotFound,
	} {
		backend := newFakeBackend()
		r := httptest.NewRequest(http.MethodPut, path, strings.NewReader(""))
		r.Header.Set("Authorization", "Bearer admin")
		answer := httptest.NewRecorder()
		backend.handler().ServeHTTP(answer, r)
		if answer.Code != want || (backend.rebuiltOrConfirmed == "demo 2026-11-22") != (want == http.StatusNoContent) {
			t.Errorf("%s: %d %s, confirmed %q", path, answer.Code, answer.Body, backend.rebuiltOrConfirmed)
		}
		if want == http.StatusNoContent && len(backend.auditLog.entries) != 1 {
			t.Errorf("%s: %d entries in the audit log", path, len(backend.auditLog.entries))
		}
	}
}
