package eventq

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"laststand/internal/identity"
)

// parse reads a behaviour as the wire contract defines it. Names must match
// exactly, and unknown names are refused.
func parse(raw json.RawMessage) (b Behaviour, ok bool) {
	var compact bytes.Buffer // so that data is compact
	var members map[string]json.RawMessage
	if !utf8.Valid(raw) || json.Compact(&compact, raw) != nil || json.Unmarshal(compact.Bytes(), &members) != nil {
		return b, false
	}
	fields := map[string]any{
		"id": &b.ID, "type": &b.Type, "at": &b.At, "player": &b.Player, "device": &b.Device,
		"session": &b.Session, "account": &b.Account, "pi": &b.PI, "data": &b.Data,
	}
	for name, value := range members {
		field := fields[name]
		isNull := string(value) == "null" // Unmarshal would treat it as missing
		if field == nil || isNull || json.Unmarshal(value, field) != nil {
			return b, false
		}
	}
	_, ok = members["at"]
	return b, ok
}

// isValid checks a behaviour against the wire contract. Encoding finds data that
// is not an object and a body that is too long.
func (b *Behaviour) isValid() bool {
	isNoneOrID := func(text string) bool { return text == "" || identity.ValidID(text) }
	return identity.ValidID(b.ID) && identity.ValidID(b.Type) && isNoneOrID(b.Player) && isNoneOrID(b.Session) &&
		(b.Account == Verified || b.Account == Guest)
}
