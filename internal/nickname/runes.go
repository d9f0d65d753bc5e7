package nickname

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// reasonAgainstRunes returns why a text is refused that contains a character that no name
// may have, or "".
func reasonAgainstRunes(text string) reason {
	for _, char := range text {
		if kind := forbiddenKind(char); kind != "" {
			return reason(fmt.Sprintf("it contains %s (%U)", kind, char))
		}
	}
	return ""
}

// forbiddenKind returns a description of a character that no name may have, or "" if names
// may have the character.
func forbiddenKind(char rune) string {
	switch {
	case char == utf8.RuneError:
		return "a damaged character"
	case unicode.In(char, unicode.Cc, unicode.Zl, unicode.Zp):
		return "a control character"
	case unicode.Is(unicode.Bidi_Control, char):
		return "a character that turns the direction of text"
	case isInvisible(char):
		return "an invisible character"
	case unicode.Is(unicode.Co, char):
		return "a character for private use"
	case unicode.Is(unicode.Cn, char):
		return "a character that Unicode has not assigned"
	}
	return ""
}

const brailleBlank = '\u2800'

// isInvisible reports whether a character has no width or shows nothing. This includes
// joiners and variation selectors, so names cannot have emoji made of several
// characters.
func isInvisible(char rune) bool {
	return char == brailleBlank || unicode.In(char, unicode.Cf,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
