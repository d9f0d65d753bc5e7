package redisnames

// slotPrefix returns the prefix of all keys of a game. It puts them in one cluster slot, because
// one script writes the keys of a requester and of names.
func slotPrefix(game string) string { return "names:{" + game + "}" }

// reservedPrefix is the start of the key of a reserved name; the skeleton follows. The
// value of the key is the requester.
func reservedPrefix(game string) string { return slotPrefix(game) + ":reserved:" }

func reservedKey(game, skeleton string) string { return reservedPrefix(game) + skeleton }

// requesterKey returns the key of the list of names reserved for a requester, oldest
// first.
func requesterKey(game, requester string) string { return slotPrefix(game) + ":requester:" + requester }
