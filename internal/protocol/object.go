package protocol

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object split into its members, in their order. Splitting
// costs a third of decoding into a map, and every frame is split twice.
type object []member

type member struct {
	name  []byte // unescaped, without quotes
	value json.RawMessage
}

// few is room for the members of what is sent as a rule.
type few [4]member

// split splits what is valid JSON; false where it is not, or no object.
func split(raw []byte) (o object, ok bool) { return splitInto(nil, raw, false) }

// splitInto is split, into an empty object with room, of what may be known to be
// valid.
func splitInto(room object, raw []byte, valid bool) (o object, ok bool) {
	rest := after(raw)
	if len(rest) == 0 || rest[0] != '{' || !valid && !json.Valid(raw) {
		return nil, false
	}
	o = room
	for rest = after(rest[1:]); rest[0] != '}'; rest = after(rest) {
		if rest[0] == ',' {
			rest = after(rest[1:])
		}
		var m member
		name := rest[:valueEnd(rest)]
		m.name = unquoted(name)
		rest = after(after(rest[len(name):])[1:]) // the colon
		m.value = rest[:valueEnd(rest)]
		rest = rest[len(m.value):]
		o = append(o, m)
	}
	return o, true
}

// after leaves the blanks out that JSON text begins with.
func after(raw []byte) []byte {
	for len(raw) > 0 && blank(raw[0]) {
		raw = raw[1:]
	}
	return raw
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// valueEnd is where the value ends that valid JSON begins with.
func valueEnd(raw []byte) int {
	depth, text := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']' || c == ':' || blank(c)):
			return i
		case c == '}' || c == ']':
			depth--
		}
	}
	return len(raw)
}

// unquoted is a JSON text as it is meant.
func unquoted(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	var meant string
	_ = json.Unmarshal(text, &meant) // it is valid
	return []byte(meant)
}

// value is the member of a name, the last of several; nil where there is none.
func (o object) value(name string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].name) == name {
			return o[i].value
		}
	}
	return nil
}
