package redislobby

// keys returns the Redis keys of a game's lobby.
type keys struct{ game string }

func (k keys) tag() string               { return "{lobby:" + k.game + "}" }
func (k keys) tickets() string           { return "tickets:" + k.tag() }
func (k keys) waiting() string           { return "waiting:" + k.tag() }
func (k keys) alive() string             { return "alive:" + k.tag() }
func (k keys) pairings() string          { return "pairings:" + k.tag() }
func (k keys) busy(player string) string { return "busy:" + k.tag() + ":" + player }
func (k keys) duel(player string) string { return "duel:" + k.tag() + ":" + player }
