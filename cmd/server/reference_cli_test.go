package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// cliReference describes the command line from kong's model of it.
func cliReference(t *testing.T) string {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Name("server"), kong.Description(about), kong.Writers(new(bytes.Buffer), new(bytes.Buffer)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Command line\n\n" + generatedNotice + "\n" + about + "\n\n## Flags of every command\n\n")
	writeFlags(&b, parser.Model.Flags)
	for _, leaf := range parser.Model.Leaves(false) {
		writeCommand(&b, leaf)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeCommand(b *strings.Builder, command *kong.Node) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", command.FullPath(), command.Help)
	if command.Detail != "" {
		text, example, _ := strings.Cut(command.Detail, "Example:")
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("\n" + text + "\n")
		}
		b.WriteString("\n```sh\n")
		for line := range strings.Lines(strings.TrimSpace(example)) { // the help indents further examples
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
		b.WriteString("```\n")
	}
	if len(command.Positional) > 0 {
		b.WriteString("\n" + tableRow("argument", "required", "meaning") + tableRow("---", "---", "---"))
		for _, argument := range command.Positional {
			b.WriteString(tableRow(codeText(argument.Name), yesNo(argument.Required), argument.Help))
		}
	}
	if len(command.Flags) > 0 {
		b.WriteString("\n")
		writeFlags(b, command.Flags)
	}
}

func writeFlags(b *strings.Builder, flags []*kong.Flag) {
	b.WriteString(tableRow("flag", "environment", "required", "default", "meaning") + tableRow("---", "---", "---", "---", "---"))
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		name := "--" + flag.Name
		if !flag.IsBool() {
			name += "=" + flag.FormatPlaceHolder()
		}
		b.WriteString(tableRow(codeText(name), codeText(strings.Join(flag.Envs, ", ")), yesNo(flag.Required), codeText(flag.Default), flag.Help))
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
