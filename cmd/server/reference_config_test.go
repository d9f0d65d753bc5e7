package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"laststand/internal/config"
	"laststand/internal/testenv"
)

// configKey is a key of the configuration file, as the reference shows it.
type configKey struct{ path, kind, defaultValue, values, meaning string }

// configurationReference returns the text of docs/reference/configuration.md.
func configurationReference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Configuration\n\n" + generatedNotice + "\n" +
		"The keys of the YAML file that `--config` names. Flags and environment variables, where a key has them, are in the [CLI reference](cli.md); a flag beats the environment, which beats the file.\n" +
		"`GAME` stands for the name of a game, `[]` for each entry of a list. In a limit, 0 means no limit.\n\n")
	b.WriteString(tableRow("key", "type", "default", "values", "meaning") + tableRow("---", "---", "---", "---", "---"))
	for _, k := range configKeys(t) {
		b.WriteString(tableRow(codeText(k.path), k.kind, codeText(k.defaultValue), cmp.Or(k.values, "-"), k.meaning))
	}
	return b.String()
}

// configKeys lists all keys with the texts of their fields.
func configKeys(t *testing.T) []configKey {
	t.Helper()
	c := config.Default()
	collector := configKeyCollector{comments: fieldComments(t)}
	collector.addFields("", reflect.ValueOf(c))
	return collector.keys
}

type configKeyCollector struct {
	comments map[string]string // by type and field: "Duel.Questions"
	keys     []configKey
}

func (c *configKeyCollector) addFields(prefix string, v reflect.Value) {
	for field, value := range v.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case strings.Contains(options, "inline"):
			c.addFields(prefix, value)
		case name != "":
			c.addKey(prefix+name, v.Type().Name()+"."+field.Name, field, value)
		}
	}
}

func (c *configKeyCollector) addKey(path, fieldName string, field reflect.StructField, v reflect.Value) {
	k := configKey{path: path, kind: kindName(v), meaning: c.comments[fieldName], values: cmp.Or(field.Tag.Get("oneof"), field.Tag.Get("allowed"))}
	if lowest, highest, ok := strings.Cut(field.Tag.Get("range"), ".."); ok {
		k.values = lowest + " to " + highest
	}
	if k.kind == "true or false" && k.values == "" {
		k.values = k.kind
	}
	if k.kind != "section" && k.kind != "list of sections" {
		k.defaultValue = defaultText(v)
	}
	c.keys = append(c.keys, k)
	switch {
	case v.Kind() == reflect.Map:
		c.addFields(path+".GAME.", v.MapIndex(reflect.ValueOf("demo")))
	case k.kind == "section":
		c.addFields(path+".", v)
	case k.kind == "list of sections":
		c.addFields(path+"[].", reflect.Zero(v.Type().Elem()))
	}
}

func kindName(v reflect.Value) string {
	switch kind := v.Kind(); {
	case v.Type() == reflect.TypeFor[config.DryRun]():
		return "true, false or list"
	case kind == reflect.Map, kind == reflect.Struct:
		return "section"
	case kind == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		return "list of sections"
	case kind == reflect.Slice:
		return "list"
	case kind == reflect.Bool:
		return "true or false"
	case v.CanInt():
		return "whole number"
	case v.CanFloat():
		return "number"
	}
	return "text"
}

// defaultText returns the default of a key, or "" if it is empty or the server computes it.
func defaultText(v reflect.Value) string {
	if v.Type() == reflect.TypeFor[config.DryRun]() {
		return "false"
	}
	if v.Kind() == reflect.Slice {
		if v.Len() == 0 {
			return ""
		}
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	}
	return fmt.Sprint(v)
}

// fieldComments are the comments of all fields of package config, by type and field.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	comments := make(map[string]string)
	files := testenv.Need(filepath.Glob("../../internal/config/*.go"))(t)
	for _, name := range files {
		file := testenv.Need(parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range body.Fields.List {
					for _, ident := range field.Names {
						comments[spec.Name.Name+"."+ident.Name] = plainText(field.Doc.Text())
					}
				}
			}
			return true
		})
	}
	return comments
}
