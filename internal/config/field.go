package config

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A field is a setting of the configuration, or a section of settings. These tags of its struct
// field describe it:
//
//   - default: the default as YAML.
//   - range: the lowest and the highest number or duration, such as "1..100".
//   - oneof: the valid texts, separated by commas.
//   - check: the name of a function in checks. "optional" before it allows an empty text.
//   - allowed: the valid values, for the reference only.
//
// A setting with the YAML option omitempty may also be unset.
type field struct {
	path  string // configuration key
	tag   reflect.StructTag
	value reflect.Value
}

// fieldsOf returns the fields of a struct. path is the configuration key of the struct.
func fieldsOf(path string, v reflect.Value) iter.Seq[field] {
	return func(yield func(field) bool) {
		for structField, value := range v.Fields() {
			key, options := yamlKey(structField)
			switch {
			case options == "inline":
				for inner := range fieldsOf(path, value) {
					if !yield(inner) {
						return
					}
				}
			case key != "" && !yield(field{strings.TrimPrefix(path+"."+key, "."), structField.Tag, value}):
				return
			}
		}
	}
}

// yamlKey returns the configuration key of a field and the options of its yaml tag, such as
// "inline". The key is "" if the configuration file cannot set the field.
func yamlKey(f reflect.StructField) (key, options string) {
	key, options, _ = strings.Cut(f.Tag.Get("yaml"), ",")
	return key, options
}

// visit calls f for each field at or below v: a struct, a map or list of structs, or a setting.
func visit(path string, v reflect.Value, f func(field)) {
	switch v.Kind() {
	case reflect.Map:
		for _, name := range slices.SortedFunc(v.Seq(), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			visit(path+"."+name.String(), v.MapIndex(name), f)
		}
	case reflect.Slice:
		for _, element := range v.Seq2() {
			if webhook, ok := element.Interface().(Webhook); ok {
				visit(path+"."+webhook.Name, element, f)
			}
		}
	case reflect.Struct:
		for inner := range fieldsOf(path, v) {
			f(inner)
			visit(inner.path, inner.value, f)
		}
	}
}

// setDefaults sets each unset field below target, a pointer to a struct, to its default. It panics
// if a default is malformed.
func setDefaults(target any) {
	visit("", reflect.ValueOf(target).Elem(), func(f field) {
		text, hasDefault := f.tag.Lookup("default")
		if !hasDefault || !f.value.IsZero() {
			return
		}
		if err := yaml.Unmarshal([]byte(text), f.value.Addr().Interface()); err != nil {
			panic(fmt.Sprintf("the default of %s: %v", f.path, err))
		}
	})
}
