package nickname

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// reasonAgainstRunes returns why a text is refused that contains a character that no name
// may have, or "".
func reasonAgainstRunes(s string) string {
	for _, r := range s {
		if kind := forbiddenKind(r); kind != "" {
			return fmt.Sprintf("it contains %s (%U)", kind, r)
		}
	}
	return ""
}

// forbiddenKind returns a description of a character that no name may have, or "" if names
// may have the character.
func forbiddenKind(r rune) string {
	switch {
	case r == utf8.RuneError:
		return "a damaged character"
	case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp):
		return "a control character"
	case unicode.Is(unicode.Bidi_Control, r):
		return "a character that turns the direction of text"
	case isInvisible(r):
		return "an invisible character"
	case unicode.Is(unicode.Co, r):
		return "a character for private use"
	case unicode.Is(unicode.Cn, r):
		return "a character that Unicode has not assigned"
	}
	return ""
}

const brailleBlank = '\u2800'

// isInvisible reports whether a character has no width or shows nothing. This includes
// joiners and variation selectors, so names cannot have emoji made of several
// characters.
func isInvisible(r rune) bool {
	return r == brailleBlank || unicode.In(r, unicode.Cf,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
