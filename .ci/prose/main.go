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

// check runs Vale over all that has to follow the rules. It returns the breaches.
func check(vale, root string) ([]breach, error) {
	tree := os.DirFS(root)
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
	name := filepath.Join(folder, "texts.md")
	content, places := page(texts)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		return nil, err
	}
	return runVale(vale, root, append(files, name), map[string][]string{name: places})
}

// documents lists the Markdown files that have to follow the rules.
func documents(tree fs.FS) ([]string, error) {
	files := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "internal/cli/help.md"}
	err := fs.WalkDir(tree, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(name) == ".md" {
			files = append(files, name)
		}
		return err
	})
	return files, err
}
