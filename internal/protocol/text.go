package protocol

import "unicode/utf8"

// AppendJSONText appends a text to dst as a JSON string. The result equals that of
// encoding/json without HTML escaping. It is several times as fast.
func AppendText(out []byte, s string) []byte {
	out = append(out, '"')
	plain := 0 // the part of the text from this index is not appended yet, and needs no escape so far
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

// isPlainWord returns true if none of 8 bytes needs an escape or is part of a multibyte
// character. It checks them together: a byte that a subtraction makes negative has its
// highest bit set.
func plainWord(s string) bool {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	return (word|(word-each*' ')|((word^each*'"')-each)|((word^each*'\\')-each))&highest == 0
}

// escapeRune returns the JSON escape of a character, or "" if it needs none. size is the
// character's size in bytes; 1 with RuneError means invalid UTF-8.
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
