package internal_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// retiredWordsFile lists the words that names must not contain.
const retiredWordsFile = "testdata/retired_words.txt"

// A retiredWord is a former name of something that has another name now.
type retiredWord struct {
	words       []string // the word and its other forms; underscores join two or three words
	replacement string   // what to use
	isRefused   bool     // false: pending, which means that the code still contains it
}

// foreignScripts are scripts of other projects, which are not checked.
var foreignScripts = []string{"web/static/preact.js"}

// No name contains a refused word. The test logs (go test -v) where names contain
// pending words, and which pending words can be refused now.
func TestNoRetiredWords(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(retiredWordsFile)
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseRetiredWords(string(content))
	if err != nil {
		t.Fatal(err)
	}
	places, err := findRetiredWords(os.DirFS(".."), list)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		var found []string
		for _, word := range entry.words {
			found = append(found, places[word]...)
		}
		switch {
		case entry.isRefused:
			for _, place := range found {
				t.Errorf("%s has the retired word %q; use %s", place, entry.words[0], entry.replacement)
			}
		case len(found) == 0:
			t.Logf("%q occurs nowhere: mark it refused in internal/%s", entry.words, retiredWordsFile)
		default:
			t.Logf("%q occurs %d times, for example in %s; use %s", entry.words, len(found), found[0], entry.replacement)
		}
	}
}

// parseRetiredWords reads lines "refused|pending: word [form ...] = replacement". It ignores
// empty lines and lines that start with #.
func parseRetiredWords(content string) (list []retiredWord, err error) {
	listed := map[string]bool{}
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		state, rest, _ := strings.Cut(line, ":")
		forms, replacement, _ := strings.Cut(rest, "=")
		words, replacement := strings.Fields(forms), strings.TrimSpace(replacement)
		if state != "refused" && state != "pending" || len(words) == 0 || replacement == "" {
			return nil, fmt.Errorf("line %q is not of the form \"refused: word form = replacement\"", line)
		}
		for _, word := range words {
			if listed[word] {
				return nil, fmt.Errorf("the word %q is listed twice", word)
			}
			listed[word] = true
		}
		list = append(list, retiredWord{words, replacement, state == "refused"})
	}
	return list, nil
}

// findRetiredWords finds the words of the list in the names of a tree. It returns, by word, the
// places and names that contain it.
func findRetiredWords(tree fs.FS, list []retiredWord) (map[string][]string, error) {
	places := map[string][]string{}
	for _, entry := range list {
		for _, word := range entry.words {
			places[word] = nil
		}
	}
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && isForeignFolder(entry.Name()):
			return fs.SkipDir
		case entry.IsDir(), slices.Contains(foreignScripts, file):
			return nil
		}
		names, err := chosenNames(tree, file)
		for _, chosen := range names {
			for _, word := range phrasesIn(chosen.name) {
				if found, ok := places[word]; ok {
					places[word] = append(found, chosen.place+" "+chosen.name)
				}
			}
		}
		return err
	})
	maps.DeleteFunc(places, func(_ string, found []string) bool { return len(found) == 0 })
	return places, err
}

// phrasesIn returns the words of a name, and each two and three successive words joined
// by underscores.
func phrasesIn(name string) []string {
	words := splitWords(name)
	phrases := slices.Clone(words)
	for i := range words {
		for _, end := range []int{i + 2, i + 3} {
			if end <= len(words) {
				phrases = append(phrases, strings.Join(words[i:end], "_"))
			}
		}
	}
	return phrases
}

// Each sample has a retired word in another kind of name.
func TestRetiredWordsAreFoundInEveryKindOfName(t *testing.T) {
	t.Parallel()
	list, err := parseRetiredWords("refused: lull lulls idle_for_long = idleTick\n")
	if err != nil {
		t.Fatal(err)
	}
	for kind, sample := range map[string]struct{ file, text string }{
		"file name":         {"internal/ws/lull.go", "package ws\n"},
		"file name in two":  {"internal/ws/idle_lull_test.go", "package ws\n"},
		"folder":            {"internal/lull/a.go", "package p\n"},
		"document":          {"docs/lull.md", ""},
		"package":           {"a.go", "package lull\n"},
		"import name":       {"a.go", "package p\nimport lull \"time\"\n"},
		"type":              {"a.go", "package p\ntype lullTimer int\n"},
		"field":             {"a.go", "package p\ntype a struct{ lastLull int }\n"},
		"method":            {"a.go", "package p\nfunc (b a) Lull() {}\n"},
		"interface":         {"a.go", "package p\ntype a interface{ Lull() }\n"},
		"receiver":          {"a.go", "package p\nfunc (lull a) b() {}\n"},
		"parameter":         {"a.go", "package p\nfunc a(lull int) {}\n"},
		"result":            {"a.go", "package p\nfunc a() (lull int) { return 1 }\n"},
		"constant":          {"a.go", "package p\nconst maxLULLTime = 1\n"},
		"variable":          {"a.go", "package p\nfunc a() { lulls := 1; _ = lulls }\n"},
		"variable of range": {"a.go", "package p\nfunc a() { for lull := range 3 { _ = 1 } }\n"},
		"label":             {"a.go", "package p\nfunc a() { lull: for { } }\n"},
		"test fixture":      {"a_test.go", "package p\nvar lull = 1\n"},
		"metric":            {"a.go", "package p\nvar a = \"laststand_ws_lulls_total\"\n"},
		"path":              {"a.go", "package p\nvar a = \"/admin/v1/{game}/lulls\"\n"},
		"config key":        {"a.go", "package p\ntype a struct { B int `yaml:\"lull_ms\"` }\n"},
		"command":           {"a.go", "package p\ntype a struct { B int `cmd:\"\" name:\"lull\"` }\n"},
		"local of Lua":      {"a.lua", "local lull = 1\n"},
		"function of Lua":   {"a.lua", "local function startLull(a) end\n"},
		"key of Lua":        {"a.lua", "redis.call('HSET', KEYS[1], 'lull', 1)\n"},
		"column of SQL":     {"a.sql", "CREATE TABLE a (lull_ms INTEGER)\n"},
		"words in a row":    {"a.go", "package p\nvar isIdleForLong = 1\n"},
		"JavaScript":        {"web/static/a.js", "// no\nexport const lullTime = `text`\n"},
	} {
		places, err := findRetiredWords(fstest.MapFS{sample.file: {Data: []byte(sample.text)}}, list)
		if err != nil || len(places) != 1 {
			t.Errorf("%s: found %q, %v; want one word", kind, places, err)
		}
	}
}

func TestRetiredWordsAreAllowedInTextsAndComments(t *testing.T) {
	t.Parallel()
	list, err := parseRetiredWords("refused: lull = idleTick\npending: bed beds = idleSlot\n")
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{
		"a.go":            {Data: []byte("package p\n// lull\nvar embedded, text = lib.Lull, \"a lull in the game\"\n")},
		"a_test.go":       {Data: []byte("package p\nvar a = \"lull\"\n")},
		"a.lua":           {Data: []byte("-- lull\nlocal idle = 1 -- lull\n")},
		"web/static/a.js": {Data: []byte("/* a lull\n of lull */ const a = 'lull', b = \"lull\" // a lull\n")},
		"testdata/lull":   {},
	}
	places, err := findRetiredWords(tree, list)
	if err != nil || len(places) > 0 {
		t.Errorf("found %q, %v; want nothing", places, err)
	}
}

func TestMalformedRetiredWordsAreRefused(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"lull = idleTick", "refused: lull", "refused: lull =", "retired: lull = a", "refused: a b = c\npending: b = d"} {
		if list, err := parseRetiredWords(content); err == nil {
			t.Errorf("%q is read as %v, want an error", content, list)
		}
	}
}
