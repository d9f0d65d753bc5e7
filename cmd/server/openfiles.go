package main

// otherFiles is room for what a node has open beside its players' connections:
// those to Redis and the database, the operators', listeners, files.
const otherFiles = 500

// mostConnections is how many connections of any kind players have at once.
func mostConnections(websockets int64) int64 { return websockets + websockets/10 + 1000 }

// openFiles holds what a process may open against what its connections take: how
// many it needs, and, where that is more, how many websockets there is room for.
func openFiles(allowed uint64, websockets int64) (need, room int64, enough bool) {
	need = mostConnections(websockets) + otherFiles
	if uint64(need) <= allowed {
		return need, websockets, true
	}
	return need, max(0, (int64(allowed)-mostConnections(0)-otherFiles)*10/11), false
}

// warnOfOpenFiles says where the node cannot have as many connections as it is
// configured for: what is one too many then fails in accept, whoever it is from.
func (n *node) warnOfOpenFiles(allowed uint64, known bool) {
	need, room, enough := openFiles(allowed, n.config.Limits.Connections)
	if !known || enough {
		return
	}
	n.log.Warn("open file limit is too low for limits.connections; raise it (ulimit -n, LimitNOFILE= in systemd, ulimits of a container) or lower limits.connections",
		"allowed", allowed, "needed", need, "possible_connections", room)
}
