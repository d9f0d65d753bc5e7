package eventq

import (
	"bytes"
	"encoding/json"
)

// appendObject appends an object, compacted.
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

// flat says of most objects, many times as fast as json.Compact, that they are
// compact JSON: of such as have a member, with plain strings and whole numbers.
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

// skipValue gives where a string or a number ends that begins there; the end of
// the text where there is none.
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

// skipString gives where a string without escapes ends, as skipValue.
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
