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

// A text is a string in the Go code that people read.
type text struct {
	place string // the file and the line
	words string
}

// extract collects the texts of the server: help texts, errors, problem+json, websocket errors,
// logs and the descriptions of metrics.
func extract(tree fs.FS) (texts []text, err error) {
	for _, folder := range []string{"cmd", "internal"} {
		err = errors.Join(err, fs.WalkDir(tree, folder, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && name == testSupport {
				return fs.SkipDir
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			found, err := extractFile(tree, name)
			texts = append(texts, found...)
			return err
		}))
	}
	return texts, err
}

func extractFile(tree fs.FS, name string) (texts []text, err error) {
	source, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(words string, at ast.Node) {
		if isText(words) {
			texts = append(texts, text{fmt.Sprintf("%s:%d", name, set.Position(at.Pos()).Line), words})
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
	return texts, nil
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

// page renders texts as the paragraphs of a Markdown page, and returns the place
// of every line. A text keeps its code between backticks.
func page(texts []text) (content string, places []string) {
	var out strings.Builder
	for _, t := range texts {
		for line := range strings.Lines(t.words + "\n\n") {
			out.WriteString(special.ReplaceAllString(strings.TrimLeft(line, " \t"), `\$0`))
			places = append(places, t.place)
		}
	}
	return out.String(), places
}
