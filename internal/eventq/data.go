package eventq

import (
	"bytes"
	"encoding/json"
)

// appendObject appends an object, compacted.
func appendObject(out []byte, object json.RawMessage) ([]byte, error) {
	if flat(object) {
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
func flat(object []byte) bool {
	at, before := 0, byte('{')
	for at < len(object) && object[at] == before {
		at = skipString(object, at+1)
		if at >= len(object) || object[at] != ':' {
			return false
		}
		at, before = skipValue(object, at+1), ','
	}
	return at > 0 && string(object[at:]) == "}"
}

// skipValue gives where a string or a number ends that begins there; the end of
// the text where there is none.
func skipValue(text []byte, from int) int {
	at := from
	for at < len(text) && '0' <= text[at] && text[at] <= '9' {
		at++
	}
	switch {
	case at == from:
		return skipString(text, from)
	case text[from] == '0' && at > from+1: // no number begins like that
		return len(text)
	}
	return at
}

// skipString gives where a string without escapes ends, as skipValue.
func skipString(text []byte, from int) int {
	if from >= len(text) || text[from] != '"' {
		return len(text)
	}
	for at := from + 1; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			return at + 1
		case c < ' ' || c == '\\':
			return len(text)
		}
	}
	return len(text)
}
