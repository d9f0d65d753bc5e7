package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"syscall"
)

type serveCmd struct{}

// Help implements kong's help provider.
func (*serveCmd) Help() string {
	return "Example: server --listen :8080 --redis redis://cache:6379 --database postgres://laststand@db/laststand"
}

// Run serves until SIGTERM or SIGINT, then shuts down gracefully.
func (*serveCmd) Run(flags *cli, output commandOutput) error {
	c, err := flags.load()
	if err != nil {
		return err
	}
	memory := memoryLimit(c.Limits.MaxMemoryMiB)
	setMemoryLimit(memory)
	defer startGCTuner(gcHeadroom(c.Limits.GCHeadroomMiB, memory))()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // after this, a second signal ends the process immediately
	return serve(ctx, c, output)
}

// serve opens the listeners and runs a node until ctx ends. It prints the addresses when the
// node serves.
func serve(ctx context.Context, c config, output commandOutput) error {
	log := slog.New(slog.NewTextHandler(output.stderr, nil))
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
	allowed, known := allowedFiles()
	c.logLowOpenFileLimit(log, allowed, known)
	return n.run(ctx, n.limitConnections(players), operators, func() {
		fmt.Fprintf(output.stdout, "listening on %s://%s\n", c.scheme(), players.Addr())
		fmt.Fprintf(output.stdout, "operations on http://%s\n", operators.Addr())
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
