package redisboard

import "laststand/internal/leaderboard"

// The Redis keys of one game share the hash tag {b:GAME}, so that one script can change
// all its boards. CONFIG is the hash of a configuration, GEN the id of a board set.
//
//	{b:GAME}:served                        hash: CONFIG → id of the served board set.
//	{b:GAME}:building                      hash: CONFIG → id of the board set being built.
//	{b:GAME}:retired                       set: ids of board sets to remove.
//	{b:GAME}:forms                         hash: served CONFIG → its Config as JSON.
//	{b:GAME}:published                     sorted set: served CONFIG, by the order of publishing.
//	{b:GAME}:lease:CONFIG:WORK             text: holder of the lease; it expires.
//	{b:GAME}:GEN:state                     hash: ready, stamp (the version), loading, touched, config and progressFields.
//	{b:GAME}:GEN:boards                    set: KIND:SPAN of each existing board.
//	{b:GAME}:GEN:sealed                    hash: KIND:DAY of a past day → number of entries.
//	{b:GAME}:GEN:KIND:SPAN:parts           hash: id → packed entry (packed.go).
//	{b:GAME}:GEN:KIND:SPAN:meta            hash: as_of.
//	{b:GAME}:GEN:KIND:SPAN:by:ORDER        sorted set (ranking): member by key.

func keyPrefix(game string) string { return "{b:" + game + "}:" }

func servedKey(game string) string    { return keyPrefix(game) + "served" }
func buildingKey(game string) string  { return keyPrefix(game) + "building" }
func retiredKey(game string) string   { return keyPrefix(game) + "retired" }
func formsKey(game string) string     { return keyPrefix(game) + "forms" }
func publishedKey(game string) string { return keyPrefix(game) + "published" }

func leaseKey(d leaderboard.Duty) string {
	return keyPrefix(d.Game) + "lease:" + d.ConfigHash + ":" + d.Name
}

func stateKey(g leaderboard.Generation) string  { return keyPrefix(g.Game) + g.ID + ":state" }
func boardsKey(g leaderboard.Generation) string { return keyPrefix(g.Game) + g.ID + ":boards" }
func sealedKey(g leaderboard.Generation) string { return keyPrefix(g.Game) + g.ID + ":sealed" }

// boardKeyPrefix is the prefix of one board's Redis keys. Its methods return the keys.
type boardKeys string

func keysOf(g leaderboard.Generation, b leaderboard.Board) boardKeys {
	return keysOfBoardName(g, boardName(b))
}

// boardName returns a board's name in the Redis set of boards. Example: "player:7d.1".
func boardName(b leaderboard.Board) string { return string(b.Kind) + ":" + b.Span }

func sealedField(kind leaderboard.Kind, day string) string {
	return boardName(leaderboard.Board{Kind: kind, Span: day})
}

func keysOfBoardName(g leaderboard.Generation, name string) boardKeys {
	return boardKeys(keyPrefix(g.Game) + g.ID + ":" + name)
}

func (k boardKeys) parts() string                 { return string(k) + ":parts" }
func (k boardKeys) meta() string                  { return string(k) + ":meta" }
func (k boardKeys) by(o leaderboard.Order) string { return string(k) + ":by:" + string(o) }

// allKeys lists the Redis keys that the board can have under any configuration.
func (k boardKeys) all() []string {
	keys := []string{k.parts(), k.meta()}
	for _, o := range leaderboard.Orders() {
		keys = append(keys, k.by(o))
	}
	return keys
}
