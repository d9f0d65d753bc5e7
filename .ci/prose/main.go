// Command prose writes the texts of the Go code in the current folder to Markdown files, so that
// Vale can check them. The name of a file says where its texts are: FOLDER/internal/ws/ws.go:12.md.
//
//	prose FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: prose FOLDER")
		os.Exit(2)
	}
	if err := writePages(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func writePages(folder string) error {
	pages, err := extract(os.DirFS("."))
	if err != nil {
		return err
	}
	for place, page := range pages {
		file := filepath.Join(folder, place+".md")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			return err
		}
	}
	return nil
}
