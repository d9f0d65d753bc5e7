package main

import (
	"context"
	"log/slog"

	"laststand/internal/config"
)

// reservedFiles is how many open files a node needs besides the connections of players: Redis,
// the database, operators, listeners, files.
const reservedFiles = 500

// maxConnections returns the maximum number of connections of all kinds to --listen, for a
// maximum number of websockets.
func maxConnections(websockets int64) int64 { return websockets + websockets/10 + 1000 }

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
