package protocol

// maxIDLength is the maximum length of an id, in characters.
const maxID = 64

// IsMatchID returns true if a text can be the id of a match: 1 to 64 letters, digits and
// the characters _ . - of the contract. The contract also allows a colon in ids, but the
// server makes no match id with one, and a colon would form another Redis key of a match.
func IsMatchID(text string) bool {
	if text == "" || len(text) > maxID {
		return false
	}
	for _, c := range []byte(text) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}
