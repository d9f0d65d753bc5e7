package cli

import (
	_ "embed"
	"strings"

	"github.com/alecthomas/kong"
)

// helpText has a section for each command: a text, then its examples as code.
//
//go:embed help.md
var helpText string

// addHelp adds to each command and group of commands what `--help` prints about it after its first
// sentence.
func addHelp(command *kong.Node) {
	_, section, _ := strings.Cut(helpText, "\n## "+command.Path()+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if text, examples, hasExamples := strings.Cut(section, "\n    "); hasExamples {
		examples = strings.ReplaceAll(strings.TrimSpace(examples), "\n    ", "\n         ")
		command.Detail = strings.TrimSpace(strings.TrimSpace(text) + "\n\nExample: " + examples)
	}
	for _, child := range command.Children {
		addHelp(child)
	}
}
