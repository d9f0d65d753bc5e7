package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"syscall"

	"laststand/internal/cli"
	"laststand/internal/config"
	"laststand/internal/process"
)

// serveUntilSignal serves until SIGTERM or SIGINT, then shuts down gracefully.
func serveUntilSignal(c config.Config, output cli.Output) error {
	defer process.SetMemory(c.Limits.MaxMemoryMiB, c.Limits.GCHeadroomMiB)()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // after this, a second signal ends the process immediately
	return serve(ctx, c, output)
}

// serve opens the listeners and runs a node until ctx ends. It prints the addresses when the
// node serves.
func serve(ctx context.Context, c config.Config, output cli.Output) error {
	log := slog.New(slog.NewTextHandler(output.Stderr, nil))
	players, err := listen(ctx, "listen", c.Listen)
	if err != nil {
		return err
	}
	operators, err := listen(ctx, "ops-listen", c.OpsListen)
	if err != nil {
		return errors.Join(err, players.Close())
	}
	n, err := open(ctx, c, log)
	if err != nil {
		return errors.Join(err, players.Close(), operators.Close())
	}
	n.warnOfExposedOperations(operators.Addr())
	logLowOpenFileLimit(log, process.AllowedFiles(), c.Limits.Connections)
	return n.run(ctx, n.limitConnections(players), operators, func() {
		fmt.Fprintf(output.Stdout, "listening on %s://%s\n", c.Scheme(), players.Addr())
		fmt.Fprintf(output.Stdout, "operations on http://%s\n", operators.Addr())
	})
}

// listen opens a TCP listener. flag is the name of the command line flag with the address.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another program; stop that program, or choose another address with --%s (port 0 picks a free port)", address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", flag, address, err)
	}
	return l, nil
}
