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

// Version is the contract's version, told in welcome.
const Version = 1

// Subprotocol is the websocket subprotocol of the contract.
const Subprotocol = "laststand.v1"

// MaxFrame is the largest frame a client may send, in bytes.
const MaxFrame = 4 << 10

// MaxID is the largest id of a request: what a JSON number of any client
// holds exactly.
const MaxID = 1<<53 - 1

// ErrMalformed says that a frame is no JSON object or has no text `type`:
// the connection is closed with CloseProtocol.
var ErrMalformed = errors.New("protocol: a frame must be a JSON object with a text `type`")

// Request is one frame of a client. ID is nil where the client gave none or
// none that is valid.
type Request struct {
	ID   *int64
	Type string
	Data json.RawMessage

	checked bool // Data is part of a frame that was read
}

// ReadRequest reads a client's frame. An error is ErrMalformed, or an *Error
// (bad_request) beside which the request holds what could be read, so that
// the refusal can name its id.
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

// Decode reads the request's data into a message of this package. Unknown
// fields, also those that differ by case only, and values of a wrong type are
// refused with an *Error (bad_request) that names the field.
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

// EncodeReply encodes the reply to a request; a nil re is written as null.
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

// EncodePush encodes a push without a number.
func EncodePush(kind string, data any) []byte {
	b := append(make([]byte, 0, 256), `{"type":`...)
	b = AppendText(b, kind)
	return append(appendData(append(b, `,"data":`...), data), '}')
}

// Numbered is a push whose number is known only when it is committed: the
// frame is Head, the number in decimal, Tail.
type Numbered struct{ Head, Tail string }

// EncodeNumbered encodes a numbered push of a match without its number.
func EncodeNumbered(match, kind string, data any) Numbered {
	return Numbered{
		Head: `{"type":` + quote(kind) + `,"match":` + quote(match) + `,"seq":`,
		Tail: `,"data":` + string(mustJSON(data)) + `}`,
	}
}

// Frame is the whole frame of the push as number seq of its match.
func (n Numbered) Frame(seq int64) []byte {
	b := make([]byte, 0, len(n.Head)+len(n.Tail)+20)
	b = append(b, n.Head...)
	b = strconv.AppendInt(b, seq, 10)
	return append(b, n.Tail...)
}

func readID(raw json.RawMessage) (int64, error) {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > MaxID {
		return 0, Errorf(CodeBadRequest, "a request needs an id: a whole number from 0 to %d", int64(MaxID))
	}
	return int64(n), nil
}

// mustJSON encodes a message of this package, which always succeeds.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("protocol: cannot encode %T: %v", v, err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func quote(s string) string { return string(AppendText(nil, s)) }

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// lastName is a field's own name, without those of what it stands in.
func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// field is what is known of one field of a message.
type field struct {
	inner  reflect.Type // its own fields', where it is an object; else nil
	list   bool         // of such objects
	needed bool
}

// checkFields refuses what an object has and must not, or lacks and must have.
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

// objects are those that a field's value holds, none where it is no object; a
// wrong type is left to the decoder, which names it.
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
		if isNull(value) { // it lacks all that is needed
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

var fieldsCache sync.Map // reflect.Type to map[string]field

// fieldsOf names the JSON fields of a message; those tagged `need:"true"` must
// be there.
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
