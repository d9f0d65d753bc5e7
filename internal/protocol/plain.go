package protocol

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// readPlain reads an answer of the usual form, which the decoder of the standard
// library takes five times as long for; false where a member is of another form
// or unknown, then nothing is read.
func (a *Answer) readPlain(o object) bool {
	var plain Answer
	for _, m := range o {
		ok := false
		switch string(m.name) {
		case "match":
			plain.Match, ok = plainText(m.value)
		case "question":
			plain.Question, ok = plainIndex(m.value)
		case "choice":
			plain.Choice, ok = plainIndex(m.value)
		case "value":
			plain.Value, ok = bytes.Clone(m.value), true
		}
		if !ok {
			return false
		}
	}
	*a = plain
	return true
}

// plainText is a JSON text without escapes.
func plainText(raw []byte) (string, bool) {
	if raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 {
		return "", false
	}
	return string(raw[1 : len(raw)-1]), true
}

// plainIndex is a JSON number without sign, fraction and exponent.
func plainIndex(raw []byte) (*int, bool) {
	n, err := strconv.ParseUint(string(raw), 10, 31)
	if err != nil {
		return nil, false
	}
	index := int(n)
	return &index, true
}

// Encode is what was given as JSON, as it was sent.
func (g Given) Encode() json.RawMessage {
	switch {
	case g.Choice != nil && g.Choices == nil && g.Value == nil:
		return append(strconv.AppendInt([]byte(`{"choice":`), int64(*g.Choice), 10), '}')
	case g.Choice == nil && g.Choices == nil && g.Value != nil:
		return slices.Concat([]byte(`{"value":`), g.Value, []byte(`}`))
	}
	return mustJSON(g)
}
