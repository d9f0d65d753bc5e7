package arena

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
)

const codeDigits = 6

// newCode returns a code of random digits.
func newCode() string {
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000)) // crypto/rand never fails
	return fmt.Sprintf("%0*d", codeDigits, n)
}

// CodeKey returns a key that identifies a code among the codes of all games.
func CodeKey(game, code string) string { return game + "/" + code }

func isCode(s string) bool {
	return len(s) == codeDigits && strings.Trim(s, "0123456789") == ""
}
