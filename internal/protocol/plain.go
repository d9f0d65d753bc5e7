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

// plain is a message that an answer has one of, and that is encoded without the
// encoder of the standard library, in a quarter of the time.
type plain interface {
	appendTo(b []byte) []byte
}

var _, _ plain = Answered{}, Own{}

// appendData appends a message of this package as JSON.
func appendData(b []byte, data any) []byte {
	if message, ok := data.(plain); ok {
		return message.appendTo(b)
	}
	return append(b, mustJSON(data)...)
}

func (a Answered) appendTo(b []byte) []byte {
	b = appendInt(append(b, `{"question":`...), int64(a.Question))
	b = appendInt(append(b, `,"at":`...), a.At)
	b = appendInt(append(b, `,"elapsed_ms":`...), a.ElapsedMS)
	if a.Correct != nil {
		b = strconv.AppendBool(append(b, `,"correct":`...), *a.Correct)
	}
	if a.First != nil {
		b = strconv.AppendBool(append(b, `,"first":`...), *a.First)
	}
	return append(b, '}')
}

func (o Own) appendTo(b []byte) []byte {
	b = AppendText(append(b, `{"match":`...), o.Match)
	b = appendInt(append(b, `,"question":`...), int64(o.Question))
	b = appendRaw(append(b, `,"given":`...), o.Given)
	b = strconv.AppendBool(append(b, `,"correct":`...), o.Correct)
	b = append(b, `,"elapsed_ms":`...)
	if o.ElapsedMS == nil {
		b = append(b, "null"...)
	} else {
		b = appendInt(b, *o.ElapsedMS)
	}
	b = appendInt(append(b, `,"points":`...), o.Points)
	b = appendInt(append(b, `,"score":`...), o.Score)
	b = appendInt(append(b, `,"rank":`...), o.Rank)
	if o.Out {
		b = append(b, `,"out":true`...)
	}
	return append(b, '}')
}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// appendRaw appends JSON as the encoder does: without the blanks between its parts
// that a client may have sent. It is valid.
func appendRaw(b []byte, raw json.RawMessage) []byte {
	switch {
	case len(raw) == 0:
		return append(b, "null"...)
	case !slices.ContainsFunc(raw, blank):
		return append(b, raw...)
	}
	compact := bytes.NewBuffer(b)
	_ = json.Compact(compact, raw) // it is valid
	return compact.Bytes()
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
