package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
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

	checked bool // Data is part of a frame that is known to be valid JSON
}

// ReadRequest decodes a client's frame, without its data. An error is ErrMalformed or an
// *Error (bad_request). With an *Error it also returns the part of the request that could
// be read, so that the error reply can contain its id.
func ReadRequest(frame []byte) (Request, error) {
	var room few
	fields, ok := splitInto(room[:0], frame, false)
	kind := fields.value("type")
	if !ok || len(kind) == 0 || kind[0] != '"' {
		return Request{}, ErrMalformed
	}
	r := Request{Type: string(unquoted(kind)), Data: fields.value("data"), checked: true}
	id, err := readID(fields.value("id"))
	if err != nil {
		return r, err
	}
	r.ID = &id
	for _, f := range fields {
		switch string(f.name) {
		case "id", "type", "data":
		default:
			return r, Errorf(CodeBadRequest, "unknown field %q beside id, type and data", clip(string(f.name)))
		}
	}
	return r, nil
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
	var room few
	fields, ok := splitInto(room[:0], data, r.checked)
	if !ok {
		return Errorf(CodeBadRequest, "data of %s must be a JSON object", clip(r.Type))
	}
	if a, ok := message.(*Answer); ok && a.readPlain(fields) {
		return nil
	}
	if err := checkFields(reflect.TypeOf(message).Elem(), fields, clip(r.Type)); err != nil {
		return err
	}
	if err := json.Unmarshal(data, message); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return Errorf(CodeBadRequest, "field %q of %s cannot be a %s", lastName(wrong.Field), clip(r.Type), wrong.Value)
		}
		return Errorf(CodeBadRequest, "data of %s cannot be read", clip(r.Type))
	}
	return nil
}

// EncodeReply encodes the reply to the request with an id; nil is encoded as null.
func EncodeReply(re *int64, kind string, data any) []byte {
	b := append(make([]byte, 0, 128), `{"re":`...)
	if re == nil {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, *re, 10)
	}
	b = AppendText(append(b, `,"type":`...), kind)
	return append(appendData(append(b, `,"data":`...), data), '}')
}

// EncodePush encodes a push that has no number.
func EncodePush(kind string, data any) []byte {
	b := append(make([]byte, 0, 256), `{"type":`...)
	b = AppendText(b, kind)
	return append(appendData(append(b, `,"data":`...), data), '}')
}

// NumberedPush is an encoded push of a match without its number. The number is known only
// when the store commits the push. The frame is Head, the number in decimal, and Tail.
type Numbered struct{ Head, Tail string }

// EncodeNumberedPush encodes a push of a match, without its number.
func EncodeNumbered(match, kind string, data any) Numbered {
	return Numbered{
		Head: `{"type":` + quote(kind) + `,"match":` + quote(match) + `,"seq":`,
		Tail: `,"data":` + string(mustJSON(data)) + `}`,
	}
}

// Frame returns the frame of the push with the number seq.
func (n Numbered) Frame(seq int64) []byte {
	b := make([]byte, 0, len(n.Head)+len(n.Tail)+20)
	b = append(b, n.Head...)
	b = strconv.AppendInt(b, seq, 10)
	return append(b, n.Tail...)
}

// readID decodes the id of a request, a whole number from 0 to MaxID.
func readID(raw json.RawMessage) (int64, error) {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > MaxID {
		return 0, Errorf(CodeBadRequest, "a request needs an id: a whole number from 0 to %d", int64(MaxID))
	}
	return int64(n), nil
}

// mustJSON encodes a message of this package. It panics on an error, which cannot happen
// with these types.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("protocol: cannot encode %T: %v", v, err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// quoteJSON returns a text as a JSON string.
func quote(s string) string { return string(AppendText(nil, s)) }

// isNull returns true for an absent value and for null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// shorten cuts a client's text to 40 characters, for error messages.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// fieldName returns the last part of a dotted path, the name of the field itself.
func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// fieldRule is what checkFields must know of one field of a message.
type field struct {
	inner  reflect.Type // struct type of the field's objects; nil if it contains no objects
	list   bool         // the field is a list of objects
	needed bool         // the field must be present and not null
}

// checkFields refuses an object that has an unknown field or lacks a required one, and
// checks the objects inside it. objectName names the object in errors.
func checkFields(t reflect.Type, has object, where string) error {
	known := fieldsOf(t)
	for _, m := range has {
		f, ok := known[string(m.name)]
		if !ok {
			return Errorf(CodeBadRequest, "unknown field %q in %s", clip(string(m.name)), where)
		}
		for _, inside := range f.objects(m.value) {
			if err := checkFields(f.inner, inside, string(m.name)); err != nil {
				return err
			}
		}
	}
	for name, f := range known {
		if f.needed && isNull(has.value(name)) {
			return Errorf(CodeBadRequest, "%s needs a field %q", where, name)
		}
	}
	return nil
}

// innerObjects returns the objects in a field's value. It returns none if the value has a
// wrong type: the decoder refuses that later, with an error that names the type.
func (f field) objects(value json.RawMessage) []object {
	if f.inner == nil || isNull(value) {
		return nil
	}
	var values []json.RawMessage
	if !f.list {
		values = append(values, value)
	} else if json.Unmarshal(value, &values) != nil {
		return nil
	}
	var all []object
	for _, value := range values {
		if isNull(value) { // an empty object: checkFields refuses it if a field is required
			all = append(all, nil)
			continue
		}
		o, ok := split(value)
		if !ok {
			return nil
		}
		all = append(all, o)
	}
	return all
}

var fieldsCache sync.Map // reflect.Type to map[string]fieldRule

// fieldRules returns the rules of a message's JSON fields, by name. The tag `need:"true"`
// marks a required field.
func fieldsOf(t reflect.Type) map[string]field {
	if known, ok := fieldsCache.Load(t); ok {
		return known.(map[string]field)
	}
	known := make(map[string]field, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for name, of := range fieldsOf(f.Type) {
				known[name] = of
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner, list := f.Type, f.Type.Kind() == reflect.Slice
		if list || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct {
			inner = nil
		}
		known[name] = field{inner: inner, list: list, needed: f.Tag.Get("need") == "true"}
	}
	fieldsCache.Store(t, known)
	return known
}
