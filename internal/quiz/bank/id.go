package bank

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"laststand/internal/quiz"
)

// contentID returns the id of a question without one: "q_" and 80 bits of the
// hash of its language, kind, folded text and folded choices in any order. The
// same question therefore has the same id on every import, even after its
// answer, explanation or category was corrected.
func contentID(q *quiz.Question) string {
	parts := append([]string{q.Lang, string(q.Kind), quiz.Fold(q.Text)}, foldAll(q.Choices)...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "q_" + idEncoding.EncodeToString(sum[:10])
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
