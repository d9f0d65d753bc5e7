package main

import (
	"maps"
	"os"
	"path/filepath"
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
	pages, err := extract(tree)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"cmd/server/a.go:4": "Address for the players.\n\n", "cmd/server/a.go:6": "Example: server serve now\n\n",
		"cmd/server/a.go:8": "the queue %s is full\n\n", "cmd/server/a.go:13": "there is no such player\n\n",
	}
	if !maps.Equal(pages, want) {
		t.Errorf("extract gives %q, want %q", pages, want)
	}
}

func TestATextIsOneParagraphOfMarkdown(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"choose <FILE> or `a_b`": "choose \\<FILE\\> or `a\\_b`\n\n", "first\n  second": "first\nsecond\n\n",
	} {
		if got := markdown(words); got != want {
			t.Errorf("%q becomes %q, want %q", words, got, want)
		}
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
