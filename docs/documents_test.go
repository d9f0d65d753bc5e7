package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents returns the Markdown files of the repository by their paths from its root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	read := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel("..", path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.ToSlash(name)] = string(text)
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "loadtest/k6/README.md"} {
		read(filepath.Join("..", name))
	}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			read(filepath.Join("..", "docs", path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	codeBlock         = regexp.MustCompile("(?s)```.*?```")
	link              = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading           = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchorPunctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the names by which GitHub links to the headings of a document.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		found[strings.ReplaceAll(anchorPunctuation.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")] = true
	}
	return found
}

// brokenLinks lists the links of a document whose file or heading does not exist. name
// is the path of the document, and all has the texts of all documents by path.
func brokenLinks(name, text string, all map[string]string) (broken []string) {
	for _, match := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		target, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		path := name
		if target != "" {
			path = filepath.ToSlash(filepath.Join(filepath.Dir(name), target))
		}
		if _, err := os.Stat(filepath.Join("..", path)); err != nil {
			broken = append(broken, match[1])
			continue
		}
		if other, ok := all[path]; anchor != "" && ok && !anchors(other)[anchor] {
			broken = append(broken, match[1])
		}
	}
	return broken
}

func TestLinksInDocumentsLeadToFilesAndHeadings(t *testing.T) {
	t.Parallel()
	all := documents(t)
	for name, text := range all {
		for _, target := range brokenLinks(name, text, all) {
			t.Errorf("%s links to %s, which does not exist", name, target)
		}
	}
	samples := map[string]string{"docs/README.md": "# One thing\n[a](#one-thing) [b](#other) [c](none.md) [d](reference/storage.md) [e](https://example.com)"}
	if got := strings.Join(brokenLinks("docs/README.md", samples["docs/README.md"], samples), " "); got != "#other none.md" {
		t.Errorf("of the sample links, %q are broken, want #other and none.md", got)
	}
}

// The documents stay short enough that people read them. The lists in
// docs/reference are generated or checked by tests, and this test does not count them.
func TestDocumentsStayWithinWordLimits(t *testing.T) {
	t.Parallel()
	const (
		maxWords         = 20_000
		maxReadmeWords   = 900
		maxReadmeLines   = 110
		maxDecisionWords = 400
	)
	total := 0
	for name, text := range documents(t) {
		words := len(strings.Fields(text))
		if !strings.HasPrefix(name, "docs/reference/") {
			total += words
		}
		if strings.HasPrefix(name, "docs/decisions/0") && words > maxDecisionWords {
			t.Errorf("%s has %d words; use at most %d", name, words, maxDecisionWords)
		}
		if lines := strings.Count(text, "\n"); name == "README.md" && (words > maxReadmeWords || lines > maxReadmeLines) {
			t.Errorf("README.md has %d words and %d lines; use at most %d and %d", words, lines, maxReadmeWords, maxReadmeLines)
		}
	}
	if total > maxWords {
		t.Errorf("the documents have %d words; use at most %d", total, maxWords)
	}
}
