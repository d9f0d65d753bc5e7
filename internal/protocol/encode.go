package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// EncodeReply encodes the reply to the request with an id; nil is encoded as null.
func EncodeReply(requestID *int64, messageType string, data any) []byte {
	frame := append(make([]byte, 0, 128), `{"re":`...)
	if requestID == nil {
		frame = append(frame, "null"...)
	} else {
		frame = strconv.AppendInt(frame, *requestID, 10)
	}
	frame = AppendJSONText(append(frame, `,"type":`...), messageType)
	return append(appendData(append(frame, `,"data":`...), data), '}')
}

// EncodePush encodes a push that has no number.
func EncodePush(messageType string, data any) []byte {
	frame := append(make([]byte, 0, 256), `{"type":`...)
	frame = AppendJSONText(frame, messageType)
	return append(appendData(append(frame, `,"data":`...), data), '}')
}

// NumberedPush is an encoded push of a match without its number. The number is known only
// when the store commits the push. The frame is Head, the number in decimal, and Tail.
type NumberedPush struct{ Head, Tail string }

// EncodeNumberedPush encodes a push of a match, without its number.
func EncodeNumberedPush(match, messageType string, data any) NumberedPush {
	var buffer [256]byte // most heads and tails fit into it
	head := AppendJSONText(append(buffer[:0], `{"type":`...), messageType)
	head = append(AppendJSONText(append(head, `,"match":`...), match), `,"seq":`...)
	push := NumberedPush{Head: string(head)}
	push.Tail = string(append(appendData(append(buffer[:0], `,"data":`...), data), '}'))
	return push
}

// Frame returns the frame of the push with the number seq.
func (n NumberedPush) Frame(seq int64) []byte {
	frame := make([]byte, 0, len(n.Head)+len(n.Tail)+20)
	frame = append(frame, n.Head...)
	frame = strconv.AppendInt(frame, seq, 10)
	return append(frame, n.Tail...)
}

// AppendJSONText appends a text to dst as a JSON string. The result equals that of
// encoding/json without HTML escaping. A text without escapes takes a fraction of the time.
func AppendJSONText(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		switch char := text[i]; {
		case char >= utf8.RuneSelf:
			decoded, size := utf8.DecodeRuneInString(text[i:])
			if decoded == utf8.RuneError || decoded == '\u2028' || decoded == '\u2029' {
				return append(dst, EncodeJSON(text)...)
			}
			i += size - 1
		case char < ' ' || char == '"' || char == '\\':
			return append(dst, EncodeJSON(text)...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// fastEncoder is a message that encodes itself, in a quarter of the time of encoding/json.
// The server sends at least one for each answer of a player.
type fastEncoder interface {
	appendJSON(dst []byte) []byte
}

var _, _, _ fastEncoder = Answered{}, AnswerSeen{}, Own{}

func appendData(dst []byte, data any) []byte {
	if message, ok := data.(fastEncoder); ok {
		return message.appendJSON(dst)
	}
	return append(dst, EncodeJSON(data)...)
}

// EncodeJSON encodes a value as JSON without HTML escaping. It panics on an error: only
// types that JSON can represent may be passed.
func EncodeJSON(value any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("protocol: cannot encode %T: %v", value, err))
	}
	return bytes.TrimRight(buffer.Bytes(), "\n")
}

func (a Answered) appendJSON(dst []byte) []byte {
	dst = appendInt(append(dst, `{"question":`...), int64(a.Question))
	dst = appendInt(append(dst, `,"at":`...), a.At)
	dst = appendInt(append(dst, `,"elapsed_ms":`...), a.ElapsedMS)
	if a.Correct != nil {
		dst = strconv.AppendBool(append(dst, `,"correct":`...), *a.Correct)
	}
	if a.First != nil {
		dst = strconv.AppendBool(append(dst, `,"first":`...), *a.First)
	}
	return append(dst, '}')
}

func (a AnswerSeen) appendJSON(dst []byte) []byte {
	dst = appendInt(append(dst, `{"question":`...), int64(a.Question))
	return append(AppendJSONText(append(dst, `,"player":`...), a.Player), '}')
}

func (o Own) appendJSON(dst []byte) []byte {
	dst = AppendJSONText(append(dst, `{"match":`...), o.Match)
	dst = appendInt(append(dst, `,"question":`...), int64(o.Question))
	dst = appendRaw(append(dst, `,"given":`...), o.Given)
	dst = strconv.AppendBool(append(dst, `,"correct":`...), o.Correct)
	dst = append(dst, `,"elapsed_ms":`...)
	if o.ElapsedMS == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendInt(dst, *o.ElapsedMS)
	}
	dst = appendInt(append(dst, `,"points":`...), o.Points)
	dst = appendInt(append(dst, `,"score":`...), o.Score)
	dst = appendInt(append(dst, `,"rank":`...), o.Rank)
	if o.ToNext != 0 {
		dst = appendInt(append(dst, `,"to_next":`...), o.ToNext)
	}
	if o.Out {
		dst = append(dst, `,"out":true`...)
	}
	return append(dst, '}')
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// appendRaw appends a client's valid JSON as encoding/json does: without blanks between
// its parts. Empty raw is encoded as null.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	switch {
	case len(raw) == 0:
		return append(dst, "null"...)
	case !slices.ContainsFunc(raw, isBlank):
		return append(dst, raw...)
	}
	compact := bytes.NewBuffer(dst)
	_ = json.Compact(compact, raw) // it is valid
	return compact.Bytes()
}

// Encode returns the given answer as JSON, as the client sent it.
func (g Given) Encode() json.RawMessage {
	switch {
	case g.Choice != nil && g.Choices == nil && g.Value == nil:
		return append(appendInt(append(make([]byte, 0, 24), `{"choice":`...), int64(*g.Choice)), '}')
	case g.Choice == nil && g.Choices == nil && g.Value != nil:
		return slices.Concat([]byte(`{"value":`), g.Value, []byte(`}`))
	}
	return EncodeJSON(g)
}
