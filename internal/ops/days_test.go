package ops

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

// blockedDays is a Days whose calls last until their context ends.
type blockedDays struct{}

func (blockedDays) ConfirmDay(ctx context.Context, _, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestARequestEndsAfterItsTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeBackend().config()
		c.Days = blockedDays{}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/admin/v1/games/demo/days/2026-11-22/confirmation", strings.NewReader(""))
		r.Header.Set("Authorization", "Bearer admin")
		answer, startedAt := httptest.NewRecorder(), time.Now()
		New(c).ServeHTTP(answer, r)
		if took := time.Since(startedAt); answer.Code != http.StatusServiceUnavailable || took != callTimeout {
			t.Errorf("status %d after %v", answer.Code, took)
		}
	})
}
