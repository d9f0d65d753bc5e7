package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// checkWithin bounds each check of the readiness.
const checkWithin = 2 * time.Second

type health struct {
	Status  string            `json:"status"`
	Checks  map[string]string `json:"checks"`
	Version string            `json:"version,omitempty"` // of the server; only in the answer of /healthz
}

func (a *api) getHealth(w http.ResponseWriter, _ *request) error {
	return answer(w, http.StatusOK, health{Status: "ok", Checks: map[string]string{}, Version: a.Version})
}

// getReadiness runs all checks at once, and once for all who ask meanwhile: who
// asks without end has the stores asked one time after the other. Their errors are
// logged, not shown.
func (a *api) getReadiness(w http.ResponseWriter, r *request) error {
	outcomes, _, _ := a.checking.Do("", func() (any, error) {
		return a.check(context.WithoutCancel(r.Context())), nil
	})
	h := health{Status: "ready", Checks: outcomes.(map[string]string)}
	for _, outcome := range h.Checks {
		if outcome != "ok" {
			h.Status = "unavailable"
		}
	}
	if a.Draining() {
		h.Status = "draining"
	}
	if h.Status == "ready" {
		return answer(w, http.StatusOK, h)
	}
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	return answer(w, http.StatusServiceUnavailable, h)
}

func (a *api) check(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	outcomes := make(map[string]string, len(a.Checks))
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, check := range a.Checks {
		all.Go(func() {
			outcome := "ok"
			if err := check(ctx); err != nil {
				outcome = "failed"
				a.Logger.WarnContext(ctx, "not ready", "check", name, "error", err)
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[name] = outcome
		})
	}
	all.Wait()
	return outcomes
}
