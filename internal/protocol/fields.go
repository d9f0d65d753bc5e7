package protocol

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"sync"
)

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
		for _, value := range rule.innerValues(member.value) {
			inner, isObject := splitObject(value)
			if !isObject && !isNull(value) {
				break // the decoder refuses it later, with an error that names the type
			}
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

// innerValues returns the values of a field that must be objects. A null in a list counts
// as an empty object.
func (f fieldRule) innerValues(value json.RawMessage) (values []json.RawMessage) {
	switch {
	case f.objectType == nil || isNull(value):
	case f.isList:
		_ = json.Unmarshal(value, &values) // the decoder refuses another type later
	default:
		values = append(values, value)
	}
	return values
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
			maps.Copy(rules, fieldRules(structField.Type))
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

// isNull returns true for an absent value and for null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
