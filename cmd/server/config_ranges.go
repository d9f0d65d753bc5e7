package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// keyRange is the parsed struct tag `range` of a configuration key, such as "1..100". Both
// ends are allowed.
type keyRange struct {
	min, max float64
	text     string // for documents and errors: "1 to 100"
}

// parseRangeTag parses the range tag of a field. ok is false if the field has no such tag. It
// panics if the tag is malformed.
func parseRangeTag(field reflect.StructField) (r keyRange, ok bool) {
	tag, ok := field.Tag.Lookup("range")
	if !ok {
		return r, false
	}
	lowest, highest, _ := strings.Cut(tag, "..")
	r.text = fmt.Sprintf("%s to %s", lowest, highest)
	var errs [2]error
	r.min, errs[0] = strconv.ParseFloat(lowest, 64)
	r.max, errs[1] = strconv.ParseFloat(highest, 64)
	if errs[0] != nil || errs[1] != nil {
		panic(fmt.Sprintf("%s: bad range %q", field.Name, tag))
	}
	return r, true
}

// yamlKey returns the configuration key of a field and the options of its yaml tag, such as
// "inline". The key is "" if the configuration file cannot set the field.
func yamlKey(field reflect.StructField) (key, options string) {
	key, options, _ = strings.Cut(field.Tag.Get("yaml"), ",")
	return key, options
}

// checkRanges adds an error for every number in v, a struct or a map, that is outside the range
// tag of its field. path is the configuration key of v. A number with the option omitempty may
// also be 0, which means that it is not set.
func (e *validationErrors) checkRanges(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		e.checkStructRanges(path, v)
	case reflect.Map:
		names := make(map[string]reflect.Value)
		for key, value := range v.Seq2() {
			names[key.String()] = value
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			e.checkRanges(path+"."+name, names[name])
		}
	}
}

// checkStructRanges is checkRanges for a struct.
func (e *validationErrors) checkStructRanges(parentPath string, v reflect.Value) {
	for field, value := range v.Fields() {
		key, options := yamlKey(field)
		if key == "" && options != "inline" {
			continue
		}
		path := strings.TrimPrefix(parentPath+"."+key, ".")
		if options == "inline" {
			path = parentPath
		}
		if r, ok := parseRangeTag(field); ok && (options != "omitempty" || !value.IsZero()) {
			e.checkNumber(path, value, r)
			continue
		}
		e.checkRanges(path, value)
	}
}

// checkNumber adds an error if a number is outside its range, or if it is NaN. path is the
// configuration key.
func (e *validationErrors) checkNumber(path string, v reflect.Value, r keyRange) {
	var n float64
	if v.CanFloat() {
		n = v.Float()
	} else {
		n = float64(v.Int())
	}
	if !(n >= r.min && n <= r.max) {
		e.addf("%s: %v is out of range; use %s", path, v, r.text)
	}
}
