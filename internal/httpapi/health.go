package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"laststand/internal/httpserver"
)

// readinessTimeout is the time limit of each readiness check.
const readinessTimeout = 2 * time.Second

type statusRoutes struct {
	*api
	readiness singleflight.Group // makes concurrent requests share one run of the readiness checks
}

type health struct {
	Status  string            `json:"status"`
	Checks  map[string]string `json:"checks"`
	Version string            `json:"version,omitempty"` // of the server; only /healthz shows it
}

func (h *statusRoutes) getHealth(_ *request) (any, error) {
	return health{Status: "ok", Checks: map[string]string{}, Version: h.Version}, nil
}

// getReadiness runs all readiness checks in parallel. Requests that arrive during
// a run share its result, so that many requests cannot flood the stores. The
// errors are logged, but the response does not contain them.
func (h *statusRoutes) getReadiness(r *request) (any, error) {
	outcomes, _, _ := h.readiness.Do("", func() (any, error) {
		return h.runReadinessChecks(context.WithoutCancel(r.Context())), nil
	})
	state := health{Status: "ready", Checks: outcomes.(map[string]string)}
	for _, outcome := range state.Checks {
		if outcome != "ok" {
			state.Status = "unavailable"
		}
	}
	if h.IsDraining() {
		state.Status = "draining"
	}
	if state.Status == "ready" {
		return state, nil
	}
	r.w.Header().Set("Retry-After", "2")
	return httpserver.Response{Status: http.StatusServiceUnavailable, Body: state}, nil
}

// runReadinessChecks returns "ok" or "failed" for each check, by name.
func (h *statusRoutes) runReadinessChecks(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	outcomes := make(map[string]string, len(h.ReadinessChecks))
	var mu sync.Mutex
	var running sync.WaitGroup
	for name, check := range h.ReadinessChecks {
		running.Go(func() {
			outcome := "ok"
			if err := check(ctx); err != nil {
				outcome = "failed"
				h.Logger.WarnContext(ctx, "readiness check failed", "check", name, "error", err)
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[name] = outcome
		})
	}
	running.Wait()
	return outcomes
}
