package eventq

import (
	"bytes"
	"errors"
	"strconv"

	"laststand/internal/protocol"
)

var errBody = errors.New("longer than an item may be, or data that is no object on one line")

// encode returns a behaviour as compact JSON. The result equals that of
// encoding/json without HTML escapes, at many times the speed. The data must be
// compact already.
func encode(b *Behaviour) ([]byte, error) {
	out := appendMember(make([]byte, 0, bodySize(b)), `{"id":`, b.ID)
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
		return nil, errBody
	}
	return out, nil
}

// bodySize returns the largest size of a body without escapes.
func bodySize(b *Behaviour) int {
	return 112 + len(b.ID) + len(b.Type) + len(b.Player) + len(b.Device) + len(b.Session) + len(b.Account) + len(b.PI) + len(b.Data)
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
