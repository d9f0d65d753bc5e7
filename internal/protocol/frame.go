package protocol

import (
	"encoding/json"
	"errors"
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
		var typeError *json.UnmarshalTypeError
		if errors.As(err, &typeError) {
			return Errorf(CodeBadRequest, "field %q of %s cannot be a %s", fieldName(typeError.Field), shorten(r.Type), typeError.Value)
		}
		return Errorf(CodeBadRequest, "data of %s cannot be read", shorten(r.Type))
	}
	return nil
}

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
	return NumberedPush{
		Head: `{"type":` + quoteJSON(messageType) + `,"match":` + quoteJSON(match) + `,"seq":`,
		Tail: `,"data":` + string(mustJSON(data)) + `}`,
	}
}

// Frame returns the frame of the push with the number seq.
func (n NumberedPush) Frame(seq int64) []byte {
	frame := make([]byte, 0, len(n.Head)+len(n.Tail)+20)
	frame = append(frame, n.Head...)
	frame = strconv.AppendInt(frame, seq, 10)
	return append(frame, n.Tail...)
}

// readID decodes the id of a request, a whole number from 0 to MaxID.
func readID(raw json.RawMessage) (int64, error) {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > MaxID {
		return 0, Errorf(CodeBadRequest, "a request needs an id: a whole number from 0 to %d", int64(MaxID))
	}
	return int64(n), nil
}

// quoteJSON returns a text as a JSON string.
func quoteJSON(text string) string { return string(AppendJSONText(nil, text)) }

// isNull returns true for an absent value and for null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// shorten cuts a client's text to 40 characters, for error messages.
func shorten(text string) string {
	const maxRunes = 40
	if runes := []rune(text); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return text
}

// fieldName returns the last part of a dotted path, the name of the field itself.
func fieldName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// fieldRule is what checkFields must know of one field of a message.
type fieldRule struct {
	objectType reflect.Type // struct type of the field's objects; nil if it contains no objects
	isList     bool         // the field is a list of objects
	isRequired bool         // the field must be present and not null
}

// checkFields refuses an object that has an unknown field or lacks a required one, and
// checks the objects inside it. objectName names the object in errors.
func checkFields(messageType reflect.Type, object object, objectName string) error {
	rules := fieldRules(messageType)
	for _, member := range object {
		rule, ok := rules[string(member.name)]
		if !ok {
			return Errorf(CodeBadRequest, "unknown field %q in %s", shorten(string(member.name)), objectName)
		}
		for _, inner := range rule.innerObjects(member.value) {
			if err := checkFields(rule.objectType, inner, string(member.name)); err != nil {
				return err
			}
		}
	}
	for name, rule := range rules {
		if rule.isRequired && isNull(object.value(name)) {
			return Errorf(CodeBadRequest, "%s needs a field %q", objectName, name)
		}
	}
	return nil
}

// innerObjects returns the objects in a field's value. It returns none if the value has a
// wrong type: the decoder refuses that later, with an error that names the type.
func (f fieldRule) innerObjects(value json.RawMessage) []object {
	if f.objectType == nil || isNull(value) {
		return nil
	}
	var values []json.RawMessage
	if !f.isList {
		values = append(values, value)
	} else if json.Unmarshal(value, &values) != nil {
		return nil
	}
	var objects []object
	for _, value := range values {
		if isNull(value) { // an empty object: checkFields refuses it if a field is required
			objects = append(objects, nil)
			continue
		}
		inner, ok := splitObject(value)
		if !ok {
			return nil
		}
		objects = append(objects, inner)
	}
	return objects
}

var fieldRulesCache sync.Map // reflect.Type to map[string]fieldRule

// fieldRules returns the rules of a message's JSON fields, by name. The tag `need:"true"`
// marks a required field.
func fieldRules(messageType reflect.Type) map[string]fieldRule {
	if rules, ok := fieldRulesCache.Load(messageType); ok {
		return rules.(map[string]fieldRule)
	}
	rules := make(map[string]fieldRule, messageType.NumField())
	for i := range messageType.NumField() {
		structField := messageType.Field(i)
		if structField.Anonymous {
			for name, rule := range fieldRules(structField.Type) {
				rules[name] = rule
			}
			continue
		}
		name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		objectType, isList := structField.Type, structField.Type.Kind() == reflect.Slice
		if isList || objectType.Kind() == reflect.Pointer {
			objectType = objectType.Elem()
		}
		if objectType.Kind() != reflect.Struct {
			objectType = nil
		}
		rules[name] = fieldRule{objectType: objectType, isList: isList, isRequired: structField.Tag.Get("need") == "true"}
	}
	fieldRulesCache.Store(messageType, rules)
	return rules
}
