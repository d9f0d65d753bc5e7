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
)

// serveUntilSignal serves until SIGTERM or SIGINT, then shuts down gracefully.
func serveUntilSignal(c config.Config, output cli.Output) error {
	defer config.SetMemory(c.Limits.MaxMemoryMiB, c.Limits.GCHeadroomMiB)()
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
	warnOfExposedOperations(operators.Addr(), log)
	var files syscall.Rlimit // when a program starts, Go raises the limit as far as possible without privileges
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	logLowOpenFileLimit(log, files.Cur, c.Limits.Connections)
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

// reservedFiles is how many open files a node needs besides the connections of players: Redis,
// the database, operators, listeners, files.
const reservedFiles = 500

// checkOpenFiles compares the allowed number of open files with the number that the configured
// websockets need. It returns the needed number, how many websockets are possible with the
// allowed files, and whether the allowed files are enough.
func checkOpenFiles(allowed uint64, websockets int64) (needed, possible int64, enough bool) {
	needed = maxConnections(websockets) + reservedFiles
	if uint64(needed) <= allowed {
		return needed, websockets, true
	}
	return needed, max(0, (int64(allowed)-maxConnections(0)-reservedFiles)*10/11), false
}

// logLowOpenFileLimit logs if the process may open too few files for limits.connections: a
// warning, or an information if that limit is only the default. When all files are open, the
// node cannot accept any connection.
func logLowOpenFileLimit(log *slog.Logger, allowed uint64, connections int64) {
	needed, possible, enough := checkOpenFiles(allowed, connections)
	if allowed == 0 || enough {
		return
	}
	level := slog.LevelWarn
	if connections == config.Default().Limits.Connections {
		level = slog.LevelInfo
	}
	log.Log(context.Background(), level, "open file limit is too low for limits.connections; raise it (ulimit -n, LimitNOFILE= in systemd, ulimits of a container) or lower limits.connections",
		"allowed", allowed, "needed", needed, "possible_connections", possible)
}
