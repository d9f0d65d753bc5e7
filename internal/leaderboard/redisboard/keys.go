package redisboard

import "laststand/internal/leaderboard"

// The keys of one game share the hash tag {b:GAME}, so that one script may
// change all its boards.
//
//	{b:GAME}:served                        hash: form → generation that is read
//	{b:GAME}:building                      hash: form → generation being built
//	{b:GAME}:retired                       set: generations to remove
//	{b:GAME}:GEN:state                     hash: ready, stamp, touched, epoch, pos, row, day, first
//	{b:GAME}:GEN:KIND:SPAN:parts           hash: id → packed entry
//	{b:GAME}:GEN:KIND:SPAN:meta            hash: as_of
//	{b:GAME}:GEN:KIND:SPAN:by:ORDER        sorted set: member by key

func tag(game string) string { return "{b:" + game + "}:" }

func servedKey(game string) string   { return tag(game) + "served" }
func buildingKey(game string) string { return tag(game) + "building" }
func retiredKey(game string) string  { return tag(game) + "retired" }

func stateKey(game, gen string) string { return tag(game) + gen + ":state" }

// boardKeys are one board's.
type boardKeys string

func keysOf(game, gen string, b leaderboard.Board) boardKeys {
	return boardKeys(tag(game) + gen + ":" + string(b.Kind) + ":" + b.Span)
}

func (k boardKeys) parts() string                 { return string(k) + ":parts" }
func (k boardKeys) meta() string                  { return string(k) + ":meta" }
func (k boardKeys) by(o leaderboard.Order) string { return string(k) + ":by:" + string(o) }

// all lists the keys that the board may have, in any form.
func (k boardKeys) all() []string {
	keys := []string{k.parts(), k.meta()}
	for _, o := range leaderboard.Orders() {
		keys = append(keys, k.by(o))
	}
	return keys
}
