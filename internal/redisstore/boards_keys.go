package redisstore

import "laststand/internal/leaderboard"

// The Redis keys of one game share the hash tag {b:GAME}, so that one script can change
// all its boards. CONFIG is the hash of a configuration, GEN the id of a board set.
//
//	{b:GAME}:served                        hash: CONFIG → id of the served board set.
//	{b:GAME}:building                      hash: CONFIG → id of the board set being built, or why one must be built.
//	{b:GAME}:sets                          set: ids of all board sets.
//	{b:GAME}:lease:WORK                    text: holder of the lease; it expires.
//	{b:GAME}:GEN:state                     hash: version, loading, touched, config and stateFields.
//	{b:GAME}:GEN:boards                    set: KIND:SPAN of each existing board.
//	{b:GAME}:GEN:KIND:SPAN:parts           hash: id → packed entry (packEntry).
//	{b:GAME}:GEN:KIND:SPAN:meta            hash: as_of.
//	{b:GAME}:GEN:KIND:SPAN:by:ORDER        sorted set (ranking): member by key.

func keyPrefix(game string) string { return "{b:" + game + "}:" }

func servedKey(game string) string    { return keyPrefix(game) + "served" }
func buildingKey(game string) string  { return keyPrefix(game) + "building" }
func boardSetsKey(game string) string { return keyPrefix(game) + "sets" }

func leaseKey(leaseID leaderboard.LeaseID) string {
	return keyPrefix(leaseID.Game) + "lease:" + leaseID.Work
}

func stateKey(boardSet leaderboard.BoardSet) string {
	return keyPrefix(boardSet.Game) + boardSet.ID + ":state"
}
func boardsKey(boardSet leaderboard.BoardSet) string {
	return keyPrefix(boardSet.Game) + boardSet.ID + ":boards"
}

// boardKeyPrefix is the prefix of one board's Redis keys. Its methods return the keys.
type boardKeyPrefix string

func keysFor(boardSet leaderboard.BoardSet, board leaderboard.Board) boardKeyPrefix {
	return keysForName(boardSet, boardName(board))
}

// boardName returns a board's name in the Redis set of boards. Example: "player:7d.1".
func boardName(board leaderboard.Board) string { return string(board.Kind) + ":" + board.Span }

func keysForName(boardSet leaderboard.BoardSet, name string) boardKeyPrefix {
	return boardKeyPrefix(keyPrefix(boardSet.Game) + boardSet.ID + ":" + name)
}

func (k boardKeyPrefix) entriesKey() string { return string(k) + ":parts" }
func (k boardKeyPrefix) metaKey() string    { return string(k) + ":meta" }
func (k boardKeyPrefix) rankingKey(order leaderboard.Order) string {
	return string(k) + ":by:" + string(order)
}

// readKeys lists the Redis keys of the entries and of some rankings.
func (k boardKeyPrefix) readKeys(orders []leaderboard.Order) []string {
	keys := []string{k.entriesKey()}
	for _, order := range orders {
		keys = append(keys, k.rankingKey(order))
	}
	return keys
}

// allKeys lists the Redis keys that the board can have under any configuration.
func (k boardKeyPrefix) allKeys() []string {
	return append(k.readKeys(leaderboard.Orders()), k.metaKey())
}
