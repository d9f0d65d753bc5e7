package redisnames

// All keys of a game are in one slot, since one script writes those of a requester and
// of names.

func tag(game string) string { return "names:{" + game + "}" }

// reservedPrefix begins the key of a reserved name; the skeleton follows. The value is
// the requester.
func reservedPrefix(game string) string { return tag(game) + ":reserved:" }

func reservedKey(game, skeleton string) string { return reservedPrefix(game) + skeleton }

// requesterKey holds the names reserved for a requester, the oldest first.
func requesterKey(game, requester string) string { return tag(game) + ":requester:" + requester }
