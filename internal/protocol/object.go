package protocol

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object split into its members, in their order. Splitting takes a third
// of the time of decoding into a map. It matters because each frame is split twice: the
// frame and its data.
type object []member

type member struct {
	name  []byte // unescaped, without quotes
	value json.RawMessage
}

// memberSpace is space for the members of a usual message, so that splitting it allocates
// nothing.
type memberSpace [4]member

// splitObject splits a JSON object into its members. ok is false if raw is not valid JSON
// or not an object.
func splitObject(raw []byte) (members object, ok bool) { return splitObjectInto(nil, raw, false) }

// splitObjectInto is splitObject that appends the members to space. If isValid is true,
// the caller knows that raw is valid JSON, and it is not checked again.
func splitObjectInto(space object, raw []byte, isValid bool) (members object, ok bool) {
	rest := skipBlanks(raw)
	if len(rest) == 0 || rest[0] != '{' || !isValid && !json.Valid(raw) {
		return nil, false
	}
	members = space
	for rest = skipBlanks(rest[1:]); rest[0] != '}'; rest = skipBlanks(rest) {
		if rest[0] == ',' {
			rest = skipBlanks(rest[1:])
		}
		var next member
		name := rest[:valueEnd(rest)]
		next.name = unquote(name)
		rest = skipBlanks(skipBlanks(rest[len(name):])[1:]) // the colon
		next.value = rest[:valueEnd(rest)]
		rest = rest[len(next.value):]
		members = append(members, next)
	}
	return members, true
}

// skipBlanks returns JSON text without the blanks at its start.
func skipBlanks(raw []byte) []byte {
	for len(raw) > 0 && isBlank(raw[0]) {
		raw = raw[1:]
	}
	return raw
}

func isBlank(char byte) bool { return char == ' ' || char == '\t' || char == '\r' || char == '\n' }

// valueEnd returns the length of the JSON value at the start of raw, which must be valid.
func valueEnd(raw []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch char := raw[i]; {
		case inString && char == '\\':
			i++
		case char == '"':
			inString = !inString
		case inString:
		case char == '{' || char == '[':
			depth++
		case depth == 0 && (char == ',' || char == '}' || char == ']' || char == ':' || isBlank(char)):
			return i
		case char == '}' || char == ']':
			depth--
		}
	}
	return len(raw)
}

// unquote returns the text of a valid JSON string, without quotes and escapes.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var unescaped string
	_ = json.Unmarshal(quoted, &unescaped) // it is valid
	return []byte(unescaped)
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
