package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// testSupport is a package for tests, whose texts no user of the server reads.
const testSupport = "internal/testenv"

// extract collects the texts that people read: help texts, errors, problem+json, websocket errors,
// logs and the descriptions of metrics. It returns them as pages of Markdown, by file and line.
func extract(tree fs.FS) (map[string]string, error) {
	pages := make(map[string]string)
	var errs []error
	for _, folder := range []string{"cmd", "internal"} {
		errs = append(errs, fs.WalkDir(tree, folder, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && name == testSupport {
				return fs.SkipDir
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			return extractFile(tree, name, pages)
		}))
	}
	return pages, errors.Join(errs...)
}

func extractFile(tree fs.FS, name string, pages map[string]string) error {
	source, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	add := func(words string, at ast.Node) {
		if isText(words) {
			pages[fmt.Sprintf("%s:%d", name, set.Position(at.Pos()).Line)] += markdown(words)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr: // strings.Fields splits a list of words, which is no prose
			called, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || called.Sel.Name != "Fields"
		case *ast.Field:
			if n.Tag != nil {
				tag, _ := strconv.Unquote(n.Tag.Value)
				add(reflect.StructTag(tag).Get("help"), n)
			}
		case *ast.BasicLit, *ast.BinaryExpr:
			words, isString := joinedText(n.(ast.Expr))
			add(words, n)
			return !isString
		}
		return true
	})
	return nil
}

// joinedText is the text of a string literal or of several joined by +, with %s
// in place of parts that are no literals. It reports false for other expressions.
func joinedText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			words, err := strconv.Unquote(e.Value)
			return words, err == nil
		}
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			break
		}
		left, isLeft := joinedText(e.X)
		right, isRight := joinedText(e.Y)
		if !isLeft && !isRight {
			break
		}
		if !isLeft {
			left = "%s"
		}
		if !isRight {
			right = "%s"
		}
		return left + right, true
	}
	return "", false
}

var (
	threeWords = regexp.MustCompile(`[A-Za-z]{2,}[,:;]? \S+ \S+`)
	structTag  = regexp.MustCompile(`^[a-z]+:"`)
	query      = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|SET|DELETE FROM|CREATE|ALTER|DROP|PRAGMA|WHERE|FROM|JOIN|ORDER BY|GROUP BY|VALUES|RETURNING|LIMIT|CONFLICT|AND)\b`)
)

// isText reports whether a string is prose: three words or more, and neither SQL
// nor a struct tag.
func isText(words string) bool {
	return threeWords.MatchString(words) && !structTag.MatchString(words) && !query.MatchString(words)
}

// special are the characters to which Markdown gives a meaning in a text.
var special = regexp.MustCompile(`[\\*_#|<>\[\]~]`)

// markdown returns a text as a paragraph of Markdown. It keeps code between backticks.
func markdown(words string) string {
	var paragraph strings.Builder
	for line := range strings.Lines(words) {
		paragraph.WriteString(special.ReplaceAllString(strings.TrimLeft(line, " \t"), `\$0`))
	}
	return paragraph.String() + "\n\n"
}
