package eventq

import (
	"bytes"
	"strconv"

	"laststand/internal/protocol"
)

// encode returns a behaviour as compact JSON. The result equals that of
// encoding/json without HTML escapes, at many times the speed. The data must be
// compact already. It returns false if the body is longer than an item may be, or the data
// is no object on one line.
func encode(b *Behaviour) (body []byte, ok bool) {
	var room [512]byte // for most
	out := appendMember(room[:0], `{"id":`, b.ID)
	out = appendMember(out, `,"type":`, b.Type)
	out = append(out, `,"at":`...)
	out = strconv.AppendInt(out, b.At, 10)
	out = appendOptional(out, `,"player":`, b.Player)
	out = appendOptional(out, `,"device":`, b.Device)
	out = appendOptional(out, `,"session":`, b.Session)
	out = appendMember(out, `,"account":`, b.Account)
	out = appendOptional(out, `,"pi":`, b.PI)
	if len(b.Data) > 0 {
		out = append(append(out, `,"data":`...), b.Data...)
	}
	out = append(out, '}')
	if len(out) > MaxBody || len(b.Data) > 0 && b.Data[0] != '{' || bytes.IndexByte(out, '\n') >= 0 {
		return nil, false
	}
	return bytes.Clone(out), true
}

func appendMember(out []byte, name, value string) []byte {
	return protocol.AppendJSONText(append(out, name...), value)
}

func appendOptional(out []byte, name, value string) []byte {
	if value == "" {
		return out
	}
	return appendMember(out, name, value)
}
