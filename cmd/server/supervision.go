package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"laststand/internal/cli"
	"laststand/internal/timer"
)

// A supervisor tells systemd about the state of the node. Without systemd (Type=notify) it does
// nothing. It asks the operations listener, as an operator would.
type supervisor struct {
	operators net.Addr
	log       *slog.Logger
}

const (
	// readinessInterval is how often a starting node checks if it is ready.
	readinessInterval = time.Second
	// startExtension is how much longer systemd waits after each check of a node that answers but
	// is not ready: a large ledger needs minutes for its leaderboards.
	startExtension = 30 * time.Second
	// stopExtension is how long a stop may take after the drain.
	stopExtension = time.Minute
)

// Run reports that the node is ready as soon as /readyz returns 200. Then, until ctx ends, it
// reports that the process works as often as systemd demands (WatchdogSec), while /healthz
// returns 200.
func (s supervisor) Run(ctx context.Context) error {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return nil
	}
	starting, endStart := context.WithCancel(ctx)
	defer endStart()
	check := func(ctx context.Context) {
		if err := cli.CheckHealth(ctx, s.operators.String(), "/readyz"); err != nil {
			s.notify(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d\nSTATUS=not ready yet: see /readyz", startExtension.Microseconds()))
			return
		}
		s.notify(daemon.SdNotifyReady + "\nSTATUS=ready")
		endStart()
	}
	check(starting)
	timer.Every(starting, readinessInterval, check)
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil || timeout == 0 {
		return err
	}
	timer.Every(ctx, timeout/3, func(ctx context.Context) {
		if err := cli.CheckHealth(ctx, s.operators.String(), "/healthz"); err != nil {
			s.log.WarnContext(ctx, "watchdog not notified", "error", err)
			return
		}
		s.notify(daemon.SdNotifyWatchdog)
	})
	return nil
}

// reportStop reports that the node stops. systemd then waits as long as the drain needs, also if
// TimeoutStopSec is shorter.
func (s supervisor) reportStop(drain time.Duration) {
	s.notify(fmt.Sprintf("%s\nEXTEND_TIMEOUT_USEC=%d\nSTATUS=waiting for matches", daemon.SdNotifyStopping, (drain + stopExtension).Microseconds()))
}

func (s supervisor) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("systemd notification failed", "error", err)
	}
}
