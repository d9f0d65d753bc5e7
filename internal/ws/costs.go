package ws

import "laststand/internal/protocol"

// tokenCosts holds, by message type, how many tokens a message takes from its session's
// bucket; a type that is missing takes one. Requests that use more than one Redis key or
// notify other players cost more.
var tokenCosts = map[string]int{
	protocol.TypeDuelJoin:   2,
	protocol.TypeMatchSync:  2,
	protocol.TypeArenaJoin:  3,
	protocol.TypeBoardWatch: 3,
}

// tokenCost returns how many tokens a message takes. It is at most the size of the
// bucket: otherwise the bucket would never have enough tokens for the message.
func (se *session) tokenCost(messageType string) int {
	return min(max(tokenCosts[messageType], 1), int(bucketSize(se.server.MessagesPerSecond)))
}
