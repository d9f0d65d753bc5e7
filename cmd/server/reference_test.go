package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

var updateReferences = flag.Bool("update", false, "rewrite docs/reference from the code")

const referenceFolder = "../../docs/reference"

// generatedNotice is the first line of each reference.
const generatedNotice = "<!-- Generated from the code. Change the code, then run: go test ./cmd/server -run TestReferences -update -->\n"

// references are the generated documents. Their texts come only from the code: comments and
// tags of configuration fields, help of commands and metrics, and comments of error codes.
var references = map[string]func(t *testing.T) string{
	"configuration.md": configurationReference,
	"cli.md":           cliReference,
	"metrics.md":       metricsReference,
	"errors.md":        errorsReference,
	"admin.md":         adminReference,

	"../../packaging/files/laststand.yaml": packagedConfig,
}

func TestReferencesAreCurrent(t *testing.T) {
	t.Parallel()
	for name, write := range references {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(referenceFolder, name)
			want := write(t)
			if *updateReferences {
				testenv.NoError(t, os.WriteFile(path, []byte(want), 0o600))
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != want {
				t.Errorf("%s differs from the code (%v): run `go test ./cmd/server -run TestReferences -update`\n%s", path, err, firstDifference(string(got), want))
			}
		})
	}
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i, line := range wantLines {
		if i >= len(gotLines) || gotLines[i] != line {
			return "the code says: " + line
		}
	}
	return "the document has more lines than the code says"
}

// tableRow writes a row of a Markdown table.
func tableRow(cells ...string) string {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// codeText formats a text as code, and an empty text as "-".
func codeText(text string) string {
	if text == "" {
		return "-"
	}
	return "`" + text + "`"
}

// plainText returns a comment as one line.
func plainText(comment string) string { return strings.Join(strings.Fields(comment), " ") }
