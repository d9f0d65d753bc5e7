package protocol

// maxID is the most characters of an id.
const maxID = 64

// IsMatchID says whether a text can be the id of a match: at most 64 of the
// contract's characters, without the colon. The server never gives an id with
// one, and a colon would lead to another key of the match in Redis.
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
