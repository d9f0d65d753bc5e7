package config

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"laststand/internal/httpserver"
	"laststand/internal/ledger"
	"laststand/internal/nickname"
	"laststand/internal/redisx"
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

// check adds an error if the value of a field breaks a rule of its tags.
func (f field) check(v *validation) {
	if strings.Contains(f.tag.Get("yaml"), "omitempty") && f.value.IsZero() {
		return
	}
	if limits := f.tag.Get("range"); limits != "" {
		v.errs.add(f.path, checkRange(f.value, limits))
	}
	if allowed := f.tag.Get("oneof"); allowed != "" {
		v.errs.add(f.path, checkOneOf(f.value.String(), strings.Split(allowed, ", ")))
	}
	name, isOptional := strings.CutPrefix(f.tag.Get("check"), "optional ")
	if name == "" || isOptional && f.value.IsZero() {
		return
	}
	texts, isList := f.value.Interface().([]string)
	if !isList {
		texts = []string{f.value.String()}
	}
	for _, text := range texts {
		v.errs.add(f.path, checks[name](v.Config, text))
	}
}

// checks are the functions that the tag check names.
var checks = map[string]func(c *Config, text string) error{
	"address":  checkAddress,
	"audience": checkPattern(`^[!-~]{1,255}$`, "1 to 255 ASCII characters without spaces"), // names and URLs
	"database": func(c *Config, text string) error { return c.file.checkSecret(text, ledger.Validate) },
	"nppa id":  checkPattern(`^[A-Za-z0-9_-]{1,64}$`, "an id or a code that the NPPA issued: 1 to 64 of A-Z a-z 0-9 _ -"),
	"origin":   func(_ *Config, text string) error { return second(httpserver.ParseOrigin(text)) },
	"proxy":    func(_ *Config, text string) error { return second(httpserver.ParseTrustedProxies([]string{text})) },
	"redis":    func(c *Config, text string) error { return c.file.checkSecret(text, redisx.Validate) },
	"title":    func(_ *Config, text string) error { return second(nickname.ParseTitle(text, maxPageTitle)) },
	"url":      func(c *Config, text string) error { return c.file.checkSecret(text, checkURL) },
	"zone":     checkZone,
}

func second[T any](_ T, err error) error { return err }

// checkRange returns an error if a number or duration is outside a range such as "1..100", or if it
// is NaN. Both ends of the range are allowed.
func checkRange(v reflect.Value, limits string) error {
	lowest, highest, _ := strings.Cut(limits, "..")
	if v.Kind() == reflect.String {
		minimum, _ := time.ParseDuration(lowest)
		maximum, _ := time.ParseDuration(highest)
		if d, err := time.ParseDuration(v.String()); err != nil || d < minimum || d > maximum {
			return fmt.Errorf("%q is not a duration between %s and %s", v, lowest, highest)
		}
		return nil
	}
	minimum, _ := strconv.ParseFloat(lowest, 64)
	maximum, _ := strconv.ParseFloat(highest, 64)
	if n := v.Convert(reflect.TypeFor[float64]()).Float(); !(n >= minimum && n <= maximum) {
		return fmt.Errorf("%v is out of range; use %s to %s", v, lowest, highest)
	}
	return nil
}

func checkOneOf(value string, allowed []string) error {
	if !slices.Contains(allowed, value) {
		return fmt.Errorf("%q is not supported; use one of %v", value, allowed)
	}
	return nil
}

func checkAddress(_ *Config, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address of the form 127.0.0.1:8080", address)
	}
	return nil
}

func checkPattern(pattern, description string) func(*Config, string) error {
	valid := regexp.MustCompile(pattern)
	return func(_ *Config, text string) error {
		if !valid.MatchString(text) {
			return fmt.Errorf("%q is not %s", text, description)
		}
		return nil
	}
}

func checkZone(_ *Config, zone string) error {
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return fmt.Errorf("%q is not in the time zone database; use a name such as Europe/Berlin", zone)
	}
	return nil
}

// checkURL returns an error if text is not an http or https URL with a host. The error does not
// show the URL, because the URL may contain a secret.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("the URL is not of the form http://host/path or https://host/path")
	}
	if port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16); err != nil || port == 0 {
		return errors.New("the port of the URL is out of range; use 1 to 65535")
	}
	return nil
}
