package behaviour

import (
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"
)

var (
	errLong   = errors.New("longer than an item may be")
	errObject = errors.New("data is no object")
)

// usualBody is the length that few bodies exceed.
const usualBody = 384

// encode gives a behaviour as the compact JSON that encoding/json makes of it,
// but for HTML, which is left as it is, and many times as fast. It is in the
// room where that suffices.
func encode(room []byte, b *Behaviour) ([]byte, error) {
	out := appendMember(slices.Grow(room[:0], bodySize(b)), `{"id":`, b.ID)
	out = appendMember(out, `,"type":`, b.Type)
	out = append(out, `,"at":`...)
	out = strconv.AppendInt(out, b.At, 10)
	out = appendOptional(out, `,"player":`, b.Player)
	out = appendOptional(out, `,"device":`, b.Device)
	out = appendOptional(out, `,"session":`, b.Session)
	out = appendMember(out, `,"account":`, b.Account)
	out = appendOptional(out, `,"pi":`, b.PI)
	if len(b.Data) > 0 {
		var err error
		if out, err = appendObject(append(out, `,"data":`...), b.Data); err != nil {
			return nil, err
		}
	}
	out = append(out, '}')
	if len(out) > MaxBody {
		return nil, errLong
	}
	return out, nil
}

// bodySize is how long the body of a behaviour is at the most, unless something
// needs to be escaped.
func bodySize(b *Behaviour) int {
	return 112 + len(b.ID) + len(b.Type) + len(b.Player) + len(b.Device) + len(b.Session) + len(b.Account) + len(b.PI) + len(b.Data)
}

func appendMember(out []byte, name, value string) []byte {
	return appendString(append(out, name...), value)
}

func appendOptional(out []byte, name, value string) []byte {
	if value == "" {
		return out
	}
	return appendMember(out, name, value)
}

// appendString appends a string of JSON.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	plain := 0 // s from here on is plain so far, and not appended
	for i := 0; i < len(s); {
		if i+8 <= len(s) && plainWord(s[i:i+8]) {
			i += 8
			continue
		}
		if c := s[i]; c < utf8.RuneSelf && c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if escaped := escape(r, size); escaped != "" {
			out = append(append(out, s[plain:i]...), escaped...)
			plain = i + size
		}
		i += size
	}
	return append(append(out, s[plain:]...), '"')
}

// plainWord says of 8 bytes together whether all of them stand for themselves. A
// byte that a subtraction makes less than 0 has its highest bit set.
func plainWord(s string) bool {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	return (word|(word-each*' ')|((word^each*'"')-each)|((word^each*'\\')-each))&highest == 0
}

// escape is how a string of JSON spells a rune, "" where that stands for itself.
func escape(r rune, size int) string {
	const hex = "0123456789abcdef"
	switch {
	case r == '"':
		return `\"`
	case r == '\\':
		return `\\`
	case r == '\b':
		return `\b`
	case r == '\f':
		return `\f`
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < ' ':
		return `\u00` + string([]byte{hex[r>>4], hex[r&15]})
	case r == utf8.RuneError && size == 1:
		return `\ufffd`
	case r == '\u2028' || r == '\u2029': // ends a line in old JavaScript
		return `\u202` + string(hex[r&15])
	}
	return ""
}
