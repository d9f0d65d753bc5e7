package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestExtractFindsHelpAndMessages(t *testing.T) {
	t.Parallel()
	const source = "package p\n" +
		"import \"an/import of/three words\"\n" +
		"type cli struct {\n" +
		"\tListen string `env:\"LISTEN\" help:\"Address for the players.\"`\n" +
		"}\n" +
		"func (cli) Help() string { return \"Example: server serve now\" }\n" +
		"func f() error {\n" +
		"\treturn errors.New(\"the queue \" + name +\n" +
		"\t\t\" is full\")\n" +
		"}\n" +
		"const names, sql, short = \"a_b\", \"SELECT a FROM b\", \"two words\"\n" +
		"var list = strings.Fields(\"a list of words\")\n" +
		"var table = []row{{1, \"there is no such player\"}}\n"
	tree := fstest.MapFS{
		"cmd/server/a.go":      {Data: []byte(source)},
		"cmd/server/a_test.go": {Data: []byte("package p\nvar x = \"a text of a test\"\n")},
		"internal/ws/b.txt":    {Data: []byte("no Go")},
	}
	texts, err := extract(tree)
	if err != nil {
		t.Fatal(err)
	}
	want := []text{
		{"cmd/server/a.go:4", "Address for the players."}, {"cmd/server/a.go:6", "Example: server serve now"},
		{"cmd/server/a.go:8", "the queue %s is full"}, {"cmd/server/a.go:13", "there is no such player"},
	}
	if !slices.Equal(texts, want) {
		t.Errorf("extract gives %q, want %q", texts, want)
	}
}

func TestPageHasAPlaceForEveryLine(t *testing.T) {
	t.Parallel()
	content, places := page([]text{{"a.go:1", "choose <FILE> or `a_b`"}, {"b.go:2", "first\n  second"}})
	const want = "choose \\<FILE\\> or `a\\_b`\n\nfirst\nsecond\n\n"
	if wantPlaces := []string{"a.go:1", "a.go:1", "b.go:2", "b.go:2", "b.go:2"}; content != want || !slices.Equal(places, wantPlaces) {
		t.Errorf("page gives %q with %q, want %q with %q", content, places, want, wantPlaces)
	}
}

func TestParseNamesThePlaceInTheCode(t *testing.T) {
	t.Parallel()
	const output = `{
		"/tmp/help.md": [{"Check": "Laststand.IsTo", "Line": 3, "Message": "m"}],
		"README.md": [{"Check": "Laststand.IsTo", "Line": 3, "Message": "m"}]}`
	got, err := parse([]byte(output), map[string][]string{"/tmp/help.md": {"a.go:1", "a.go:1", "b.go:7"}})
	want := []breach{{"README.md:3", "Laststand.IsTo", "m"}, {"b.go:7", "Laststand.IsTo", "m"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := parse([]byte("vale: no rules"), nil); err == nil {
		t.Error("output without JSON gave no error")
	}
}

func TestDocumentsAreTheMarkdownFilesOfReaders(t *testing.T) {
	t.Parallel()
	got, err := documents(fstest.MapFS{"docs/a.md": {}, "docs/decisions/b.md": {}, "docs/openapi.yaml": {}})
	want := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "internal/cli/help.md", "docs/a.md", "docs/decisions/b.md"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// ./test runs the examples of each rule.
func TestEveryRuleHasABreachAndACorrectExample(t *testing.T) {
	t.Parallel()
	rules, err := filepath.Glob("../../.vale/styles/Laststand/*.yml")
	if err != nil || len(rules) == 0 {
		t.Fatalf("%q, %v; want the rules", rules, err)
	}
	for _, rule := range rules {
		content, err := os.ReadFile(rule)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(content); !strings.Contains(text, "    contains: ") || !strings.Contains(text, `    want: ""`) {
			t.Errorf("%s needs an example with a breach (contains) and one without (want)", rule)
		}
	}
}
