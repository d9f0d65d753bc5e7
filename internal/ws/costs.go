package ws

import "laststand/internal/protocol"

// costs are the tokens that a message takes from its session's bucket, if not one. They
// are for requests that use more than one key or notify other players.
var costs = map[string]int{
	protocol.TypeDuelJoin:   2,
	protocol.TypeMatchSync:  2,
	protocol.TypeArenaJoin:  3,
	protocol.TypeBoardWatch: 3,
}

// costOf returns the tokens that a message takes. It is at most the whole bucket, so
// that every message is allowed at some time.
func (se *session) costOf(kind string) int {
	return min(max(costs[kind], 1), int(burst(se.server.PerSecond)))
}
