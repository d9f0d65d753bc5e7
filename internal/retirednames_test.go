package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// A placedName is an identifier, a key or a file name, and its file and line.
type placedName struct{ name, place string }

// chosenNames returns the names that this project has chosen in a file. They are the names
// that Go code declares, and the keys, metrics, paths and commands in its strings. They
// are also the names in Lua, SQL and JavaScript, and the path of the file.
func chosenNames(tree fs.FS, file string) ([]placedName, error) {
	names := []placedName{{strings.TrimSuffix(file, path.Ext(file)), file}}
	var found []placedName
	text, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	switch path.Ext(file) {
	case ".go":
		found, err = goNames(file, text)
	case ".lua", ".sql":
		found = scriptNames(file, string(text), dashComment)
	case ".js":
		found = scriptNames(file, string(text), slashComment)
	}
	return append(names, found...), err
}

func goNames(file string, text []byte) ([]placedName, error) {
	fileSet := token.NewFileSet()
	parsed, err := parser.ParseFile(fileSet, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []placedName
	add := func(name string, node ast.Node) {
		names = append(names, placedName{name, fmt.Sprintf("%s:%d", file, fileSet.Position(node.Pos()).Line)})
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		for _, identifier := range declaredIdentifiers(n) {
			add(identifier.Name, identifier)
		}
		if literal, ok := n.(*ast.BasicLit); ok && !strings.HasSuffix(file, "_test.go") {
			for _, key := range keysInLiteral(literal) {
				add(key, literal)
			}
		}
		return true
	})
	return names, nil
}

// declaredIdentifiers returns the identifiers that a node declares.
func declaredIdentifiers(n ast.Node) []*ast.Ident {
	switch n := n.(type) {
	case *ast.File:
		return []*ast.Ident{n.Name}
	case *ast.ImportSpec:
		if n.Name != nil {
			return []*ast.Ident{n.Name}
		}
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.Field:
		return n.Names
	case *ast.ValueSpec:
		return n.Names
	case *ast.LabeledStmt:
		return []*ast.Ident{n.Label}
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return identifiers(n.Lhs)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			return identifiers([]ast.Expr{n.Key, n.Value})
		}
	}
	return nil
}

func identifiers(expressions []ast.Expr) (found []*ast.Ident) {
	for _, e := range expressions {
		if identifier, ok := e.(*ast.Ident); ok {
			found = append(found, identifier)
		}
	}
	return found
}

// keyPattern matches a string that is a key, a metric, a path or a command. It does not
// match a text for people.
var keyPattern = regexp.MustCompile(`^/?[A-Za-z][A-Za-z0-9_./{}:-]*$`)

// keysInLiteral returns the names in a string literal or a struct tag.
func keysInLiteral(literal *ast.BasicLit) []string {
	if literal.Kind != token.STRING {
		return nil
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return nil
	}
	if keyPattern.MatchString(value) {
		return []string{value}
	}
	var keys []string
	for _, tag := range []string{"yaml", "json", "name", "env"} {
		if key := reflect.StructTag(value).Get(tag); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

var (
	dashComment  = regexp.MustCompile(`--[^\n]*`)
	slashComment = regexp.MustCompile(`(?s)/\*.*?\*/|(?m:(?:^|[\s;{}(),])//[^\n]*)`)
	jsString     = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
	scriptName   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// scriptNames returns the words of a script outside its comments. In JavaScript it also
// ignores strings, because they have texts for people.
func scriptNames(file, text string, comment *regexp.Regexp) []placedName {
	blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
	text = comment.ReplaceAllStringFunc(text, blank)
	if comment == slashComment {
		text = jsString.ReplaceAllStringFunc(text, blank)
	}
	var names []placedName
	line := 0
	for row := range strings.Lines(text) {
		line++
		for _, name := range scriptName.FindAllString(row, -1) {
			names = append(names, placedName{name, fmt.Sprintf("%s:%d", file, line)})
		}
	}
	return names
}

// splitWords splits a name at every character that is not a letter, and where an upper case
// letter starts a word: "HTTPServer_open2" has the words http, server and open.
func splitWords(name string) []string {
	var words []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		runes, start := []rune(part), 0
		for i := 1; i < len(runes); i++ {
			startsWord := unicode.IsUpper(runes[i]) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
			if startsWord {
				words = append(words, strings.ToLower(string(runes[start:i])))
				start = i
			}
		}
		words = append(words, strings.ToLower(string(runes[start:])))
	}
	return words
}
