package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validationErrors collects all problems of a configuration, so that the operator sees them
// together.
type validationErrors []error

// addf adds an error. By convention its text starts with the configuration key and a colon.
func (e *validationErrors) addf(format string, args ...any) {
	*e = append(*e, fmt.Errorf(format, args...))
}

// add adds an error about the configuration key path. A nil error adds nothing.
func (e *validationErrors) add(path string, err error) {
	if err != nil {
		e.addf("%s: %w", path, err)
	}
}

// join returns all errors as one error, or nil if there is none.
func (e validationErrors) join() error { return errors.Join(e...) }

// validateOneOf adds an error if value is not in allowed. path is the configuration key.
func (e *validationErrors) validateOneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		e.addf("%s: %q is not supported; use one of %v", path, value, allowed)
	}
}

// parseDuration returns the duration in text, which must be at least 1 ms. For any other text
// it adds an error and returns 0. path is the configuration key.
func (e *validationErrors) parseDuration(path, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond {
		e.addf("%s: %q is not a duration of at least 1ms, such as 1s", path, text)
		return 0
	}
	return d
}

// yamlKey returns the configuration key of a field and the options of its yaml tag, such as
// "inline". The key is "" if the configuration file cannot set the field.
func yamlKey(field reflect.StructField) (key, options string) {
	key, options, _ = strings.Cut(field.Tag.Get("yaml"), ",")
	return key, options
}

// checkRanges adds an error for every number in v, a struct or a map, that is outside the range
// tag of its field, such as "1..100". path is the configuration key of v. A number with the
// option omitempty may also be 0, which means that it is not set.
func (e *validationErrors) checkRanges(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Map:
		for _, name := range slices.SortedFunc(v.Seq(), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			e.checkRanges(path+"."+name.String(), v.MapIndex(name))
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			key, options := yamlKey(field)
			keyPath := strings.TrimPrefix(path+"."+key, ".")
			if options == "inline" {
				keyPath = path
			} else if key == "" {
				continue
			}
			if tag, ok := field.Tag.Lookup("range"); ok && (options != "omitempty" || !value.IsZero()) {
				e.checkNumber(keyPath, value, tag)
			} else {
				e.checkRanges(keyPath, value)
			}
		}
	}
}

// checkNumber adds an error if a number is outside a range, or if it is NaN. Both ends of the
// range are allowed. It panics if the range is malformed.
func (e *validationErrors) checkNumber(path string, v reflect.Value, rangeTag string) {
	lowest, highest, _ := strings.Cut(rangeTag, "..")
	minimum, minErr := strconv.ParseFloat(lowest, 64)
	maximum, maxErr := strconv.ParseFloat(highest, 64)
	if minErr != nil || maxErr != nil {
		panic(fmt.Sprintf("%s: bad range %q", path, rangeTag))
	}
	if n := v.Convert(reflect.TypeFor[float64]()).Float(); !(n >= minimum && n <= maximum) {
		e.addf("%s: %v is out of range; use %s to %s", path, v, lowest, highest)
	}
}
