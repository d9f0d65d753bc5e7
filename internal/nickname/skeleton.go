package nickname

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// RulesVersion must be raised with every change of the results of computeSkeleton. Then
// nodes read filter snapshots with another version no more. The same release must
// compute the skeletons in ledgers again, in a migration.
const RulesVersion = 2

// MaxSkeleton is the largest length of a skeleton, in bytes.
const MaxSkeleton = 512

// computeSkeleton returns the skeleton of a text: names with the same skeleton count as the
// same. It folds the text and replaces each character by the replacement of its
// lookalikes. The skeleton of a skeleton is itself. Example: "Аdа" with Cyrillic А and "ada" have the skeleton "ada".
func computeSkeleton(text string) string {
	replacements := lookalikes()
	text = foldText(text)
	var builder strings.Builder
	builder.Grow(len(text))
	for _, char := range text {
		if replacement, ok := replacements[char]; ok {
			builder.WriteString(replacement)
		} else {
			builder.WriteRune(char)
		}
	}
	return norm.NFKD.String(builder.String())
}
