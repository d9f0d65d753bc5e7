package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Version is the contract's version, which the server sends in welcome.
const Version = 1

// Subprotocol is the websocket subprotocol of the contract.
const Subprotocol = "laststand.v1"

// MaxFrame is the largest frame a client may send, in bytes.
const MaxFrame = 4 << 10

// MaxID is the largest id of a request. Every client can represent integers up to it
// exactly, even as a 64-bit float.
const MaxID = 1<<53 - 1

// ErrMalformed means that a frame is not a JSON object or has no text `type`. The server
// then closes the connection with CloseProtocol.
var ErrMalformed = errors.New("protocol: a frame must be a JSON object with a text `type`")

// Request is one frame of a client. ID is nil if the client sent no valid id.
type Request struct {
	ID   *int64
	Type string
	Data json.RawMessage

	isValidJSON bool // Data is part of a frame that is known to be valid JSON
}

// ReadRequest decodes a client's frame, without its data. An error is ErrMalformed or an
// *Error (bad_request). With an *Error it also returns the part of the request that could
// be read, so that the error reply can contain its id.
func ReadRequest(frame []byte) (Request, error) {
	var space memberSpace
	fields, ok := splitObjectInto(space[:0], frame, false)
	quotedType := fields.value("type")
	if !ok || len(quotedType) == 0 || quotedType[0] != '"' {
		return Request{}, ErrMalformed
	}
	request := Request{Type: string(unquote(quotedType)), Data: fields.value("data"), isValidJSON: true}
	id, err := readID(fields.value("id"))
	if err != nil {
		return request, err
	}
	request.ID = &id
	for _, field := range fields {
		switch string(field.name) {
		case "id", "type", "data":
		default:
			return request, Errorf(CodeBadRequest, "unknown field %q beside id, type and data", shorten(string(field.name)))
		}
	}
	return request, nil
}

// Decode decodes the request's data into a message of this package; message is a pointer.
// It refuses an unknown field and a value of a wrong type with an *Error (bad_request)
// that names the field. A field whose name differs only in upper and lower case is
// unknown too.
func (r Request) Decode(message any) error {
	data := r.Data
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	var space memberSpace
	fields, ok := splitObjectInto(space[:0], data, r.isValidJSON)
	if !ok {
		return Errorf(CodeBadRequest, "data of %s must be a JSON object", shorten(r.Type))
	}
	if answer, ok := message.(*Answer); ok && answer.decodePlain(fields) {
		return nil
	}
	if err := checkFields(reflect.TypeOf(message).Elem(), fields, shorten(r.Type)); err != nil {
		return err
	}
	if err := json.Unmarshal(data, message); err != nil {
		if typeError, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return Errorf(CodeBadRequest, "field %q of %s cannot be a %s", typeError.Field[strings.LastIndexByte(typeError.Field, '.')+1:], shorten(r.Type), typeError.Value)
		}
		return Errorf(CodeBadRequest, "data of %s cannot be read", shorten(r.Type))
	}
	return nil
}

// readID decodes the id of a request, a whole number from 0 to MaxID.
func readID(raw json.RawMessage) (int64, error) {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > MaxID {
		return 0, Errorf(CodeBadRequest, "a request needs an id: a whole number from 0 to %d", int64(MaxID))
	}
	return int64(n), nil
}

// decodePlain decodes an answer of the usual form. encoding/json takes five times as long
// for it. It returns false and changes nothing if a member is unknown or has another form.
func (a *Answer) decodePlain(object object) bool {
	var plain Answer
	for _, member := range object {
		ok := false
		switch string(member.name) {
		case "match":
			plain.Match, ok = parsePlainText(member.value)
		case "question":
			plain.Question, ok = parsePlainIndex(member.value)
		case "choice":
			plain.Choice, ok = parsePlainIndex(member.value)
		case "value":
			plain.Value, ok = bytes.Clone(member.value), true
		}
		if !ok {
			return false
		}
	}
	*a = plain
	return true
}

// parsePlainText parses a JSON string without escapes; ok is false for any other value.
func parsePlainText(raw []byte) (string, bool) {
	if raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 {
		return "", false
	}
	return string(raw[1 : len(raw)-1]), true
}

// parsePlainIndex parses a JSON number without sign, fraction and exponent; ok is false
// for any other value.
func parsePlainIndex(raw []byte) (*int, bool) {
	n, err := strconv.ParseUint(string(raw), 10, 31)
	if err != nil {
		return nil, false
	}
	index := int(n)
	return &index, true
}
