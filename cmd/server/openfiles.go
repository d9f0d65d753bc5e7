package main

// reservedFiles is how many open files a node needs beside the connections of players: Redis,
// the database, operators, listeners, files.
const reservedFiles = 500

// maxConnections returns how many connections of any kind players may have for a number of
// websockets.
func maxConnections(websockets int64) int64 { return websockets + websockets/10 + 1000 }

// checkOpenFiles compares the allowed open files with the configured websockets. It returns
// how many files the node needs, and how many websockets are possible if that is more than
// allowed.
func checkOpenFiles(allowed uint64, websockets int64) (needed, possible int64, enough bool) {
	needed = maxConnections(websockets) + reservedFiles
	if uint64(needed) <= allowed {
		return needed, websockets, true
	}
	return needed, max(0, (int64(allowed)-maxConnections(0)-reservedFiles)*10/11), false
}

// warnOfOpenFiles logs a warning if the open file limit is too low for the configured
// connections. Beyond that limit accept fails for any client.
func (n *node) warnOfOpenFiles(allowed uint64, known bool) {
	needed, possible, enough := checkOpenFiles(allowed, n.config.Limits.Connections)
	if !known || enough {
		return
	}
	n.log.Warn("open file limit is too low for limits.connections; raise it (ulimit -n, LimitNOFILE= in systemd, ulimits of a container) or lower limits.connections",
		"allowed", allowed, "needed", needed, "possible_connections", possible)
}
