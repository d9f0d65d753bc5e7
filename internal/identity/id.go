package identity

import "strings"

// maxIDBytes is the longest id of the wire contract, in bytes.
const maxIDBytes = 64

// reservedID is the path segment for the calling player. No player may have it as id.
const reservedID = "me"

// ValidID reports whether s is an id of the wire contract: 1 to 64 of
// A-Z a-z 0-9 _ . : -
func ValidID(id string) bool {
	return id != "" && len(id) <= maxIDBytes && !strings.ContainsFunc(id, func(c rune) bool {
		return !isAlphanumeric(c) && !strings.ContainsRune("_.:-", c)
	})
}

// piBytes is the length of an id of the NPPA.
const piBytes = 38

// validPI reports whether s has the form of an id of the NPPA: 38 of a-z 0-9.
func validPI(pi string) bool {
	return len(pi) == piBytes && !strings.ContainsFunc(pi, func(c rune) bool {
		return !isAlphanumeric(c) || 'A' <= c && c <= 'Z'
	})
}

func isAlphanumeric(char rune) bool {
	return 'a' <= char && char <= 'z' || 'A' <= char && char <= 'Z' || '0' <= char && char <= '9'
}
