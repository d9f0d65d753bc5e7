package redisstore

// lobbyKeys returns the Redis keys of a game's lobby.
type lobbyKeys struct{ game string }

func (k lobbyKeys) tag() string               { return "{lobby:" + k.game + "}" }
func (k lobbyKeys) tickets() string           { return "tickets:" + k.tag() }
func (k lobbyKeys) waiting() string           { return "waiting:" + k.tag() }
func (k lobbyKeys) alive() string             { return "alive:" + k.tag() }
func (k lobbyKeys) pairings() string          { return "pairings:" + k.tag() }
func (k lobbyKeys) busy(player string) string { return "busy:" + k.tag() + ":" + player }
func (k lobbyKeys) duel(player string) string { return "duel:" + k.tag() + ":" + player }
