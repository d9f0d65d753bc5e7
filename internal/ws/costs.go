package ws

import "laststand/internal/protocol"

// costs are what messages take of a session's bucket where it is more than one
// token: what reads or writes more than one key, or has others told.
var costs = map[string]int{
	protocol.TypeDuelJoin:   2,
	protocol.TypeMatchSync:  2,
	protocol.TypeArenaJoin:  3,
	protocol.TypeBoardWatch: 3,
}

// costOf is what a message takes, at most the whole bucket: so that it passes
// some time, however small that is.
func (se *session) costOf(kind string) int {
	return min(max(costs[kind], 1), int(burst(se.server.PerSecond)))
}
