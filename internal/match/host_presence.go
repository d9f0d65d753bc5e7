package match

import (
	"context"
	"time"
)

// hosts tells the store which hosts are present.
type hosts struct{ *registry }

// hostReportInterval is the interval at which a node reports a present host to the
// store.
const hostReportInterval = 3 * time.Second

// reportHosts reports the hosts at this node whose arenas wait for them.
func (h *hosts) reportHosts(ctx context.Context) error {
	for _, local := range h.runningMatches() {
		if local.knownState().HostPaced && local.hasHost() {
			h.reportHost(ctx, local)
		}
	}
	return ctx.Err()
}

// reportHost reports to the store that the host of an arena is present, at most
// once per hostReportInterval.
func (h *hosts) reportHost(ctx context.Context, local *localMatch) {
	now := h.Now()
	local.mu.Lock()
	recent := now-local.hostReportedAt < hostReportInterval.Milliseconds()
	if !recent {
		local.hostReportedAt = now
	}
	local.mu.Unlock()
	if recent {
		return
	}
	if err := h.Places.PostponeHostDeadline(ctx, local.plan.ID, now+maxHostAbsenceMS); err != nil {
		h.Logger.Warn("host presence report failed", "match", local.plan.ID, "error", err)
	}
}
