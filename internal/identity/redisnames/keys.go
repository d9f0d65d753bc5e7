package redisnames

// All keys of a game share a slot, since one script writes those of an asker and
// of names.

func tag(game string) string { return "names:{" + game + "}" }

// offeredPrefix begins the key of an offered name, which holds who was offered
// it; the skeleton follows.
func offeredPrefix(game string) string { return tag(game) + ":offered:" }

func offeredKey(game, skeleton string) string { return offeredPrefix(game) + skeleton }

// askerKey holds what an asker was offered, the oldest first.
func askerKey(game, asker string) string { return tag(game) + ":asker:" + asker }
