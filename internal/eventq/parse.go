package eventq

import (
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
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return b, err
	}
	if _, ok := members["at"]; !ok {
		return b, errors.New("at is missing")
	}
	for name, value := range members {
		if err := b.setField(name, value); err != nil {
			return b, fmt.Errorf("%s: %w", name, err)
		}
	}
	if !identity.ValidID(b.ID) {
		return b, errors.New("id is none")
	}
	return b, nil
}

// setField reads one member.
func (b *Behaviour) setField(name string, value json.RawMessage) error {
	if string(value) == "null" { // Unmarshal would treat it as missing
		return errors.New("null")
	}
	if name == "data" {
		b.Data = value
		return nil
	}
	into := b.fieldFor(name)
	if into == nil {
		return errors.New("unknown")
	}
	return json.Unmarshal(value, into)
}

// fieldFor returns where to store a text or number, or nil for an unknown name.
func (b *Behaviour) fieldFor(name string) any {
	switch name {
	case "id":
		return &b.ID
	case "type":
		return &b.Type
	case "at":
		return &b.At
	case "player":
		return &b.Player
	case "device":
		return &b.Device
	case "session":
		return &b.Session
	case "account":
		return &b.Account
	case "pi":
		return &b.PI
	}
	return nil
}

// validate checks a behaviour against the wire contract, except its id.
// Encoding finds data that is not an object and a body that is too long.
func (b *Behaviour) validate() error {
	switch {
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
