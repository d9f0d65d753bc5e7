package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// keyRange is the tag `range` of a configuration key: "1..100".
type keyRange struct {
	min, max float64
	text     string
}

// rangeOf parses the tag of a field; ok is false for a field without a range.
func rangeOf(field reflect.StructField) (r keyRange, ok bool) {
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

// yamlKey returns the key of a field and its options. The key is "" for a field that the file
// cannot set.
func yamlKey(field reflect.StructField) (key, options string) {
	key, options, _ = strings.Cut(field.Tag.Get("yaml"), ",")
	return key, options
}

// checkRanges reports every number in v that is out of the range of its key.
// where is the path of v. A number that is 0 and marked omitempty is not set.
func (f *faults) checkRanges(where string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		f.checkFields(where, v)
	case reflect.Map:
		names := make(map[string]reflect.Value)
		for key, value := range v.Seq2() {
			names[key.String()] = value
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			f.checkRanges(where+"."+name, names[name])
		}
	}
}

func (f *faults) checkFields(where string, v reflect.Value) {
	for field, value := range v.Fields() {
		key, options := yamlKey(field)
		if key == "" && options != "inline" {
			continue
		}
		path := strings.TrimPrefix(where+"."+key, ".")
		if options == "inline" {
			path = where
		}
		if r, ok := rangeOf(field); ok && (options != "omitempty" || !value.IsZero()) {
			f.checkNumber(path, value, r)
			continue
		}
		f.checkRanges(path, value)
	}
}

// checkNumber reports a number that is out of range. It also reports NaN.
func (f *faults) checkNumber(where string, v reflect.Value, r keyRange) {
	var n float64
	if v.CanFloat() {
		n = v.Float()
	} else {
		n = float64(v.Int())
	}
	if !(n >= r.min && n <= r.max) {
		f.addf("%s: %v is out of range; use %s", where, v, r.text)
	}
}
