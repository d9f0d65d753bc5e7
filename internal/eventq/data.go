package eventq

import (
	"bytes"
	"encoding/json"
)

// appendObject appends an object as compact JSON.
func appendObject(out []byte, object json.RawMessage) ([]byte, error) {
	if isCompactObject(object) {
		return append(out, object...), nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return nil, err
	}
	if compact.Bytes()[0] != '{' {
		return nil, errObject
	}
	return append(out, compact.Bytes()...), nil
}

// isCompactObject recognizes most compact objects many times faster than
// json.Compact: objects with at least one member, plain strings and whole
// numbers.
func isCompactObject(object []byte) bool {
	pos, before := 0, byte('{')
	for pos < len(object) && object[pos] == before {
		pos = skipString(object, pos+1)
		if pos >= len(object) || object[pos] != ':' {
			return false
		}
		pos, before = skipValue(object, pos+1), ','
	}
	return pos > 0 && string(object[pos:]) == "}"
}

// skipValue returns the end of the string or number that begins at from, or the
// end of the text if none does.
func skipValue(text []byte, from int) int {
	pos := from
	for pos < len(text) && '0' <= text[pos] && text[pos] <= '9' {
		pos++
	}
	switch {
	case pos == from:
		return skipString(text, from)
	case text[from] == '0' && pos > from+1: // no number begins like that
		return len(text)
	}
	return pos
}

// skipString does the same for a string without escapes.
func skipString(text []byte, from int) int {
	if from >= len(text) || text[from] != '"' {
		return len(text)
	}
	for pos := from + 1; pos < len(text); pos++ {
		switch c := text[pos]; {
		case c == '"':
			return pos + 1
		case c < ' ' || c == '\\':
			return len(text)
		}
	}
	return len(text)
}
