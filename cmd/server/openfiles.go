package main

// reservedFiles is room for what a node has open beside its players' connections:
// those to Redis and the database, the operators', listeners, files.
const reservedFiles = 500

// maxConnections is how many connections of any kind players have at once.
func maxConnections(websockets int64) int64 { return websockets + websockets/10 + 1000 }

// checkOpenFiles holds what a process may open against what its connections take: how
// many it needs, and, where that is more, how many websockets there is room for.
func checkOpenFiles(allowed uint64, websockets int64) (needed, possible int64, enough bool) {
	needed = maxConnections(websockets) + reservedFiles
	if uint64(needed) <= allowed {
		return needed, websockets, true
	}
	return needed, max(0, (int64(allowed)-maxConnections(0)-reservedFiles)*10/11), false
}

// warnOfOpenFiles says where the node cannot have as many connections as it is
// configured for: what is one too many then fails in accept, whoever it is from.
func (n *node) warnOfOpenFiles(allowed uint64, known bool) {
	needed, possible, enough := checkOpenFiles(allowed, n.config.Limits.Connections)
	if !known || enough {
		return
	}
	n.log.Warn("open file limit is too low for limits.connections; raise it (ulimit -n, LimitNOFILE= in systemd, ulimits of a container) or lower limits.connections",
		"allowed", allowed, "needed", needed, "possible_connections", possible)
}
