package protocol

import "unicode/utf8"

// AppendText appends a text as JSON, as encoding/json writes it, but for HTML,
// which is left as it is, and many times as fast.
func AppendText(out []byte, s string) []byte {
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
