// Command prose checks that the documents, the help texts and the messages of the
// repository in the current folder follow the rules in .vale.
//
//	prose PATH_OF_VALE
//
// It prints one line per breach, and exits with 1 if there is one.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: prose PATH_OF_VALE")
		os.Exit(2)
	}
	breaches, err := check(os.Args[1], ".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	for _, b := range breaches {
		fmt.Println(b)
	}
	if len(breaches) > 0 {
		os.Exit(1)
	}
}

// check runs Vale over all that has to follow the rules. It returns the breaches
// outside the places that .vale/exempt lists.
func check(vale, root string) ([]breach, error) {
	tree := os.DirFS(root)
	exempt, err := readExempt(tree)
	if err != nil {
		return nil, err
	}
	files, err := documents(tree)
	if err != nil {
		return nil, err
	}
	texts, err := extract(tree)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "prose")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	places := map[string][]string{} // by file in folder: the place of each line
	for _, kind := range []string{"help", "messages"} {
		name := filepath.Join(folder, kind+".md")
		content, lines := page(texts[kind])
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return nil, err
		}
		places[name] = lines
		files = append(files, name)
	}
	found, err := runVale(vale, root, files, places)
	return slices.DeleteFunc(found, func(b breach) bool { return exempt.has(b.place) }), err
}

// documents lists the Markdown files that have to follow the rules.
func documents(tree fs.FS) ([]string, error) {
	files := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(tree, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(name) == ".md" {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

// exemptions are places that are not held to the rules yet: files, or folders
// that end with a slash.
type exemptions []string

func readExempt(tree fs.FS) (exemptions, error) {
	content, err := fs.ReadFile(tree, ".vale/exempt")
	if err != nil {
		return nil, err
	}
	var list exemptions
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list, nil
}

// has reports whether a place, as "docs/TOKENS.md:7", is exempt.
func (list exemptions) has(place string) bool {
	file, _, _ := strings.Cut(place, ":")
	return slices.ContainsFunc(list, func(entry string) bool {
		return file == entry || strings.HasSuffix(entry, "/") && strings.HasPrefix(file, entry)
	})
}
