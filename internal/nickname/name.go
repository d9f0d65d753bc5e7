package nickname

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/secure/precis"
)

// Limits of a displayed name.
const (
	MinLength = 2  // graphemes, which people count as characters
	MaxLength = 16 // graphemes
	MaxBytes  = 64

	maxRawBytes = 4 * MaxBytes // limit of the text before the profile changes it
)

// ErrInvalid is wrapped by every error about a name. The whole error text is written for
// players: it says why the name is refused.
var ErrInvalid = errors.New("this nickname cannot be used")

// Name is a nickname that Parse has accepted. The zero Name means that there is no name.
type Name struct {
	Display  string // the form that players see; Parse of it returns the same Name
	Skeleton string // equal for names that count as the same
}

// Parse checks a name as a player typed it. It applies the Nickname profile of RFC 8266.
// The profile trims spaces, joins several spaces into one and unifies compatibility forms. A name has MinLength to
// MaxLength graphemes in at most MaxBytes bytes, at least one letter or digit, and at
// most 4 accents on a character. It must not have invisible, private or unassigned
// characters, or characters that change the direction of text. The error wraps
// ErrInvalid.
func Parse(raw string) (Name, error) {
	if reason := reasonAgainstRaw(raw); reason != "" {
		return Name{}, invalid(reason)
	}
	display, err := applyProfile(raw)
	if err != nil {
		return Name{}, err
	}
	if reason := reasonAgainstDisplay(display); reason != "" {
		return Name{}, invalid(reason)
	}
	skeleton := computeSkeleton(display)
	if len(skeleton) > MaxSkeleton {
		return Name{}, invalid(tooLongReason)
	}
	if hasTooManyMarks(display) {
		return Name{}, invalid(tooManyMarksReason)
	}
	return Name{Display: display, Skeleton: skeleton}, nil
}

func invalid(cause reason) error { return fmt.Errorf("%w: %w", ErrInvalid, cause) }

// reasonAgainstRaw returns why the text is refused before the profile is applied, or "".
func reasonAgainstRaw(raw string) reason {
	switch {
	case !utf8.ValidString(raw):
		return "it is not valid UTF-8 text"
	case len(raw) > maxRawBytes:
		return tooLongReason
	}
	return reasonAgainstRunes(raw)
}

// applyProfile applies the profile, which repeats its steps until the text is stable or a
// few times. It refuses a text that would still change after that.
func applyProfile(raw string) (string, error) {
	if strings.TrimSpace(raw) == "" {
		return "", invalid("it is empty")
	}
	display, err := precis.Nickname.String(raw)
	if err != nil {
		return "", invalid("it contains characters that a nickname cannot have, or cannot have in this order")
	}
	if reapplied, err := precis.Nickname.String(display); err != nil || reapplied != display {
		return "", invalid("it has no stable written form")
	}
	return display, nil
}

var (
	tooShortReason = reason(fmt.Sprintf("it is too short, at least %d characters are needed", MinLength))
	tooLongReason  = reason(fmt.Sprintf("it is too long, at most %d characters (%d bytes) are allowed", MaxLength, MaxBytes))
)

// reasonAgainstDisplay returns why the text is refused after the profile was applied, or "".
// The profile can produce characters that the raw text did not have.
func reasonAgainstDisplay(display string) reason {
	if reason := reasonAgainstRunes(display); reason != "" {
		return reason
	}
	length := uniseg.GraphemeClusterCount(display)
	firstChar, _ := utf8.DecodeRuneInString(display)
	switch {
	case length < MinLength:
		return tooShortReason
	case length > MaxLength || len(display) > MaxBytes:
		return tooLongReason
	case unicode.IsMark(firstChar):
		return "it begins with an accent that has no letter"
	case !strings.ContainsFunc(display, isLetterOrDigit):
		return "it needs a letter or a digit"
	}
	return ""
}

func isLetterOrDigit(char rune) bool { return unicode.IsLetter(char) || unicode.IsDigit(char) }

// reason is a text for players that says why a name or a title is refused.
type reason string

func (r reason) Error() string { return string(r) }

// The values of Reason.
const (
	TooShort     = "too_short"
	TooLong      = "too_long"
	Characters   = "characters" // that it must not have, or that it lacks
	ReservedWord = "reserved_word"
	BlockedWord  = "blocked_word"
)

// Reason returns why an error of this package refuses a name or a title, for programs. It
// returns "" for other errors.
func Reason(err error) string {
	cause, ok := errors.AsType[reason](err)
	if !ok {
		return ""
	}
	switch cause {
	case tooShortReason:
		return TooShort
	case tooLongReason:
		return TooLong
	case staffReason:
		return ReservedWord
	case blockedReason:
		return BlockedWord
	}
	return Characters
}

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
