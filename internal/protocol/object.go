package protocol

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object split into its members, in their order. Splitting takes a third
// of the time of decoding into a map. It matters because each frame is split twice: the
// frame and its data.
type object []member

// member is one name and value of a JSON object.
type member struct {
	name  []byte // unescaped, without quotes
	value json.RawMessage
}

// memberSpace is space for the members of a usual message, so that splitting it allocates
// nothing.
type few [4]member

// splitObject splits a JSON object into its members. ok is false if raw is not valid JSON
// or not an object.
func split(raw []byte) (o object, ok bool) { return splitInto(nil, raw, false) }

// splitObjectInto is splitObject that appends the members to space. If isValid is true,
// the caller knows that raw is valid JSON, and it is not checked again.
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

// skipBlanks returns JSON text without the blanks at its start.
func after(raw []byte) []byte {
	for len(raw) > 0 && blank(raw[0]) {
		raw = raw[1:]
	}
	return raw
}

// isBlank returns true for JSON whitespace.
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// valueEnd returns the length of the JSON value at the start of raw, which must be valid.
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

// unquote returns the text of a valid JSON string, without quotes and escapes.
func unquoted(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	var meant string
	_ = json.Unmarshal(text, &meant) // it is valid
	return []byte(meant)
}

// value returns the value of the member with a name, nil if there is none. If several
// members have the name, the last one counts, as in encoding/json.
func (o object) value(name string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].name) == name {
			return o[i].value
		}
	}
	return nil
}
