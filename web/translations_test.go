package web

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// textPrefixes names the texts for each field `code` and `reason` of the contract, by schema.
// The key of a text is a prefix and the value. An empty list: the page does not receive the field.
var textPrefixes = map[string][]string{
	"Problem.code":          {"error."},
	"Error.code":            {"error."},
	"Problem.reason":        {"reason."},
	"Error.reason":          {"reason."},
	"Match.reason":          {"final.", "arena.over."},
	"MatchOver.reason":      {"final.", "arena.over."},
	"MatchEvent.reason":     {},
	"QuestionClosed.reason": {"closed."},
	"ArenaEnd.reason":       {"gone."},
}

// Every code and reason that the server may send has a text in both languages, and so have the
// close codes of the websocket.
func TestEveryCodeAndReasonIsTranslated(t *testing.T) {
	t.Parallel()
	needed := closeCodeTexts(t)
	if len(needed) < 10 {
		t.Errorf("only %d close codes were found", len(needed))
	}
	for field, values := range contractReasons(t) {
		prefixes, ok := textPrefixes[field]
		if !ok {
			t.Errorf("textPrefixes lacks %s, which may be %v", field, values)
		}
		for _, prefix := range prefixes {
			for _, value := range values {
				needed = append(needed, prefix+value)
			}
		}
	}
	if len(needed) < 50 {
		t.Errorf("only %d texts are needed", len(needed))
	}
	for _, lang := range []string{"en", "zh"} {
		texts := dictionary(t, lang)
		for _, key := range needed {
			if !strings.Contains(texts, "\n  '"+key+"': '") {
				t.Errorf("%s has no text %q", lang, key)
			}
		}
	}
}

// The dictionaries of both languages have the same keys.
func TestLanguagesHaveTheSameKeys(t *testing.T) {
	t.Parallel()
	keys := func(lang string) map[string]bool {
		found := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^  '([^']+)':`).FindAllStringSubmatch(dictionary(t, lang), -1) {
			if found[m[1]] {
				t.Errorf("%s has %q twice", lang, m[1])
			}
			found[m[1]] = true
		}
		return found
	}
	en, zh := keys("en"), keys("zh")
	if len(en) == 0 {
		t.Fatal("no keys found")
	}
	for key := range en {
		if !zh[key] {
			t.Errorf("zh lacks %q", key)
		}
	}
	for key := range zh {
		if !en[key] {
			t.Errorf("en lacks %q", key)
		}
	}
}

// Every text key that a view uses must be in the dictionary. Otherwise the view fails.
func TestEveryTextIsInTheDictionary(t *testing.T) {
	t.Parallel()
	texts := dictionary(t, "en")
	textCall := regexp.MustCompile("\\bt\\(['`]([^'`$]+)(['`$])")
	calls := 0
	for path, text := range sources(t) {
		if strings.HasPrefix(path, "vendor/") {
			continue
		}
		for _, m := range textCall.FindAllStringSubmatch(text, -1) {
			key, isWholeKey := m[1], m[2] != "$"
			if calls++; !strings.Contains(texts, "\n  '"+key) || isWholeKey && !strings.Contains(texts, "\n  '"+key+"':") {
				t.Errorf("%s uses the key %q, which the dictionary does not have", path, key)
			}
		}
	}
	if calls < 100 {
		t.Errorf("only %d texts found", calls)
	}
}

// dictionary returns the modules with the texts of a language.
func dictionary(t *testing.T, lang string) string {
	t.Helper()
	found := sources(t)
	return found["lang/"+lang+".js"] + found["lang/"+lang+"-arena.js"]
}

// closeCodeTexts returns the keys of the texts for the close codes of the protocol.
func closeCodeTexts(t *testing.T) (keys []string) {
	t.Helper()
	source, err := os.ReadFile("../internal/protocol/code.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\tClose\w+ += (\d{4})$`).FindAllSubmatch(source, -1) {
		keys = append(keys, "line."+string(m[1]))
	}
	return keys
}

// contractReasons returns the values of each field `code` and `reason` that has an enum, by its schema
// in the contract and its name.
func contractReasons(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, name := range []string{"openapi.yaml", "asyncapi.yaml"} {
		raw, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var contract struct {
			Components struct {
				Schemas map[string]schema
			}
		}
		if err := yaml.Unmarshal(raw, &contract); err != nil {
			t.Fatal(err)
		}
		for schemaName, s := range contract.Components.Schemas {
			for fieldName, field := range s.fields() {
				if field.Ref != "" {
					field = contract.Components.Schemas[path.Base(field.Ref)]
				}
				if len(field.Enum) > 0 {
					found[schemaName+"."+fieldName] = field.Enum
				}
			}
		}
	}
	return found
}

// schema is the part of a JSON schema that contractReasons reads.
type schema struct {
	Ref        string   `yaml:"$ref"`
	Enum       []string `yaml:"enum"`
	Properties map[string]yaml.Node
	OneOf      []schema `yaml:"oneOf"`
	AnyOf      []schema `yaml:"anyOf"`
	AllOf      []schema `yaml:"allOf"`
}

// fields returns the fields `code` and `reason` of a schema and of its alternatives.
func (s schema) fields() map[string]schema {
	found := map[string]schema{}
	for _, part := range append(append(append([]schema{}, s.OneOf...), s.AnyOf...), s.AllOf...) {
		for name, field := range part.fields() {
			found[name] = field
		}
	}
	for _, name := range []string{"code", "reason"} {
		if node, ok := s.Properties[name]; ok {
			var field schema
			if node.Decode(&field) == nil {
				found[name] = field
			}
		}
	}
	return found
}
