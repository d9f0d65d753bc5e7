package redisboard

import "laststand/internal/leaderboard"

// The keys of one game share the hash tag {b:GAME}, so that one script may
// change all its boards.
//
//	{b:GAME}:served                        hash: form → generation that is read
//	{b:GAME}:building                      hash: form → generation being built
//	{b:GAME}:retired                       set: generations to remove
//	{b:GAME}:forms                         hash: form that is served → its Config, as JSON
//	{b:GAME}:published                     sorted set: form that is served, by the order of publishing
//	{b:GAME}:lease:FORM:DUTY               text: who is at it; it expires
//	{b:GAME}:GEN:state                     hash: ready, stamp, loading, touched, config, and progressFields
//	{b:GAME}:GEN:boards                    set: KIND:SPAN of each board that there is
//	{b:GAME}:GEN:sealed                    hash: KIND:DAY of a day that is over → entries
//	{b:GAME}:GEN:KIND:SPAN:parts           hash: id → packed entry
//	{b:GAME}:GEN:KIND:SPAN:meta            hash: as_of
//	{b:GAME}:GEN:KIND:SPAN:by:ORDER        sorted set: member by key

func tag(game string) string { return "{b:" + game + "}:" }

func servedKey(game string) string    { return tag(game) + "served" }
func buildingKey(game string) string  { return tag(game) + "building" }
func retiredKey(game string) string   { return tag(game) + "retired" }
func formsKey(game string) string     { return tag(game) + "forms" }
func publishedKey(game string) string { return tag(game) + "published" }

func leaseKey(d leaderboard.Duty) string { return tag(d.Game) + "lease:" + d.Form + ":" + d.Name }

func stateKey(g leaderboard.Generation) string  { return tag(g.Game) + g.ID + ":state" }
func boardsKey(g leaderboard.Generation) string { return tag(g.Game) + g.ID + ":boards" }
func sealedKey(g leaderboard.Generation) string { return tag(g.Game) + g.ID + ":sealed" }

// boardKeys are one board's.
type boardKeys string

func keysOf(g leaderboard.Generation, b leaderboard.Board) boardKeys { return keysOfName(g, name(b)) }

// name is a board's in the set of boards.
func name(b leaderboard.Board) string { return string(b.Kind) + ":" + b.Span }

func sealedField(kind leaderboard.Kind, day string) string {
	return name(leaderboard.Board{Kind: kind, Span: day})
}

func keysOfName(g leaderboard.Generation, name string) boardKeys {
	return boardKeys(tag(g.Game) + g.ID + ":" + name)
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
