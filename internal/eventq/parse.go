package eventq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"laststand/internal/identity"
)

var errUTF8 = errors.New("no UTF-8")

// parse reads a behaviour as the wire contract defines it. Names must match
// exactly, and unknown names are errors.
func parse(raw json.RawMessage) (Behaviour, error) {
	var b Behaviour
	if !utf8.Valid(raw) {
		return b, errUTF8
	}
	var compact bytes.Buffer // so that data is compact
	if err := json.Compact(&compact, raw); err != nil {
		return b, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(compact.Bytes(), &members); err != nil {
		return b, err
	}
	if _, ok := members["at"]; !ok {
		return b, errors.New("at is missing")
	}
	fields := map[string]any{
		"id": &b.ID, "type": &b.Type, "at": &b.At, "player": &b.Player, "device": &b.Device,
		"session": &b.Session, "account": &b.Account, "pi": &b.PI, "data": &b.Data,
	}
	for name, value := range members {
		field := fields[name]
		if field == nil || string(value) == "null" { // Unmarshal would treat null as missing
			return b, fmt.Errorf("%s: unknown, or null", name)
		}
		if err := json.Unmarshal(value, field); err != nil {
			return b, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b, nil
}

// validate checks a behaviour against the wire contract. Encoding finds data that
// is not an object and a body that is too long.
func (b *Behaviour) validate() error {
	switch {
	case !identity.ValidID(b.ID):
		return errors.New("id is none")
	case !identity.ValidID(b.Type):
		return errors.New("type is none")
	case b.Player != "" && !identity.ValidID(b.Player):
		return errors.New("player is none")
	case b.Session != "" && !identity.ValidID(b.Session):
		return errors.New("session is none")
	case b.Account != Verified && b.Account != Guest:
		return errors.New("account is none")
	}
	return nil
}
