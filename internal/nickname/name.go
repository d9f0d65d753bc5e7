// Package nickname says what a player's name may be, holds the filter that
// answers for free that a name is not taken, and makes up names. Who holds a
// name is decided elsewhere, by one unique index over skeletons.
//
// Everything here but Filter is pure; Filter may be shared by goroutines.
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

// The bounds of a name as it is shown.
const (
	MinLength = 2  // graphemes: what people count as characters
	MaxLength = 16 // graphemes
	MaxBytes  = 64

	maxRawBytes = 4 * MaxBytes // before the profile trims and folds
)

// ErrInvalid is wrapped by every refusal. The whole message is a reason that
// a player can read and act on.
var ErrInvalid = errors.New("this nickname cannot be used")

// Name is a nickname that Parse has accepted. The zero Name is none.
type Name struct {
	Display  string // as it is shown, and what Parse gives again for itself
	Skeleton string // equal for names that count as one
}

// Parse takes a name as a player typed it. It applies the Nickname profile of
// RFC 8266 (spaces trimmed and joined, compatibility forms unified) and then
// wants MinLength to MaxLength graphemes in at most MaxBytes bytes, a letter or
// a digit among them, at most 4 accents on a character, and nothing that is
// invisible, private, unassigned or turns the direction of text. The error wraps
// ErrInvalid.
func Parse(raw string) (Name, error) {
	n, err := ParseHeld(raw)
	if err == nil && overMarked(n.Display) {
		return Name{}, invalid(tooManyMarks)
	}
	return n, err
}

// ParseHeld takes a name that a player may have had for long. It is Parse without
// the limit of accents, which is newer than some names.
func ParseHeld(raw string) (Name, error) {
	if reason := refuseRaw(raw); reason != "" {
		return Name{}, invalid(reason)
	}
	display, err := profiled(raw)
	if err != nil {
		return Name{}, err
	}
	if reason := refuseDisplay(display); reason != "" {
		return Name{}, invalid(reason)
	}
	skeleton := skeletonOf(display)
	if len(skeleton) > MaxSkeleton {
		return Name{}, invalid(tooLong)
	}
	return Name{Display: display, Skeleton: skeleton}, nil
}

func invalid(reason string) error { return fmt.Errorf("%w: %s", ErrInvalid, reason) }

// refuseRaw gives the reason to refuse before anything is mapped, or "".
func refuseRaw(raw string) string {
	switch {
	case !utf8.ValidString(raw):
		return "it is not valid UTF-8 text"
	case len(raw) > maxRawBytes:
		return tooLong
	}
	return refuseRunes(raw)
}

// profiled applies the profile until the text stays as it is. The profile
// itself tries a few times; what it has not settled then has no settled form.
func profiled(raw string) (string, error) {
	if strings.TrimSpace(raw) == "" {
		return "", invalid("it is empty")
	}
	display, err := precis.Nickname.String(raw)
	if err != nil {
		return "", invalid("it holds characters that a nickname cannot have, or not in this order")
	}
	if again, err := precis.Nickname.String(display); err != nil || again != display {
		return "", invalid("it has no settled written form")
	}
	return display, nil
}

var tooLong = fmt.Sprintf("it is too long, at most %d characters (%d bytes) are allowed", MaxLength, MaxBytes)

// refuseDisplay gives the reason to refuse the mapped form, or "". Mapping can
// bring up what the raw form hid.
func refuseDisplay(display string) string {
	if reason := refuseRunes(display); reason != "" {
		return reason
	}
	length := uniseg.GraphemeClusterCount(display)
	first, _ := utf8.DecodeRuneInString(display)
	switch {
	case length < MinLength:
		return fmt.Sprintf("it is too short, at least %d characters are needed", MinLength)
	case length > MaxLength || len(display) > MaxBytes:
		return tooLong
	case unicode.IsMark(first):
		return "it begins with an accent that has no letter"
	case !strings.ContainsFunc(display, isLetterOrDigit):
		return "it needs a letter or a digit"
	}
	return ""
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
