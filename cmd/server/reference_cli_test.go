package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// cliReference describes the command line from kong's model of it.
func cliReference(t *testing.T) string {
	t.Helper()
	model := testenv.Need(cli.Model())(t)
	var b strings.Builder
	b.WriteString("# Command line\n\n" + generatedNotice + "\n" + cli.About + "\n\n## Flags of every command\n\n")
	writeFlags(&b, model.Flags)
	for _, leaf := range model.Leaves(false) {
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
