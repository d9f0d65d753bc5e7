package protocol

// maxIDLength is the maximum length of an id, in characters.
const maxIDLength = 64

// IsMatchID returns true if a text can be the id of a match: 1 to 64 letters, digits and
// the characters _ . - of the contract. The contract also allows a colon in ids, but the
// server makes no match id with one, and a colon would form another Redis key of a match.
func IsMatchID(text string) bool {
	if text == "" || len(text) > maxIDLength {
		return false
	}
	for _, char := range []byte(text) {
		isLetter := char|0x20 >= 'a' && char|0x20 <= 'z'
		if !isLetter && (char < '0' || char > '9') && char != '_' && char != '.' && char != '-' {
			return false
		}
	}
	return true
}
