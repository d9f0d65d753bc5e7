package eventq

import (
	"errors"
	"slices"
	"strconv"

	"laststand/internal/protocol"
)

var (
	errLong   = errors.New("longer than an item may be")
	errObject = errors.New("data is no object")
)

// usualBody is a length that few bodies exceed, in bytes.
const usualBody = 384

// encode returns a behaviour as compact JSON. The result equals that of
// encoding/json without HTML escapes, at many times the speed. It uses room if
// that is large enough.
func encode(room []byte, b *Behaviour) ([]byte, error) {
	out := appendMember(slices.Grow(room[:0], bodySize(b)), `{"id":`, b.ID)
	out = appendMember(out, `,"type":`, b.Type)
	out = append(out, `,"at":`...)
	out = strconv.AppendInt(out, b.At, 10)
	out = appendOptional(out, `,"player":`, b.Player)
	out = appendOptional(out, `,"device":`, b.Device)
	out = appendOptional(out, `,"session":`, b.Session)
	out = appendMember(out, `,"account":`, b.Account)
	out = appendOptional(out, `,"pi":`, b.PI)
	if len(b.Data) > 0 {
		var err error
		if out, err = appendObject(append(out, `,"data":`...), b.Data); err != nil {
			return nil, err
		}
	}
	out = append(out, '}')
	if len(out) > MaxBody {
		return nil, errLong
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
