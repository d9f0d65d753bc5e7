package testenv

import (
	"cmp"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Recover adds the error of Must to an error that the function returns, and passes on other panics.
func TestRecoverReturnsTheErrorOfMust(t *testing.T) {
	t.Parallel()
	first, second := errors.New("first"), errors.New("second")
	err := func() (err error) {
		defer Recover(&err)
		err = first
		FailIf(false, "unused")
		FailIf(true, "wrapped: %w", second)
		return nil
	}()
	if !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("%v, want both errors", err)
	}
	defer func() {
		if r := recover(); r != "other" {
			t.Errorf("recovered %v, want the other panic", r)
		}
	}()
	defer Recover(&err)
	panic("other")
}

// A goroutine in which Must fails must recover, or the whole process ends. An exported function that
// fails so must say it.
func TestGoroutinesRecoverFromMust(t *testing.T) {
	t.Parallel()
	w := newMustWalker(t)
	for known := 0; known < len(w.failing); { // until the callers of failing functions are known, too
		known = len(w.failing)
		for _, f := range w.functions {
			if w.fails(f.Body) {
				w.failing[w.nameOf(f.Name)] = true
			}
		}
	}
	if !w.failing["(*laststand/loadtest/bench.answeringPlayers).seat"] || w.failing["(*laststand/loadtest/players.member).play"] {
		t.Fatalf("seat of bench fails by Must, and play of players recovers: %v", w.failing)
	}
	for _, f := range w.functions {
		if f.Name.IsExported() && w.failing[w.nameOf(f.Name)] && !strings.Contains(f.Doc.Text(), "Must") {
			t.Errorf("%s fails by Must, and its comment does not say so", w.nameOf(f.Name))
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			for _, started := range startedBy(n) {
				if literal, ok := started.(*ast.FuncLit); w.failing[w.nameOf(started)] || ok && w.fails(literal.Body) {
					t.Errorf("%s: this goroutine fails by Must, and does not recover", w.files.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// startedBy returns the functions that a node starts in other goroutines.
func startedBy(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.GoStmt:
		return []ast.Expr{n.Call.Fun}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Go", "AfterFunc", "HandleFunc"}, f.Sel.Name) {
			return n.Args
		}
	}
	return nil
}

// mustWalker knows the functions of the packages that use Must.
type mustWalker struct {
	files     *token.FileSet
	info      types.Info
	functions []*ast.FuncDecl
	failing   map[string]bool // functions that fail by Must, by their full names
}

func newMustWalker(t *testing.T) *mustWalker {
	t.Helper()
	w := &mustWalker{
		files: token.NewFileSet(), failing: map[string]bool{"laststand/internal/testenv.MustDo": true},
		info: types.Info{Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object)},
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{.GoFiles}}",
		"laststand/internal/testenv", "laststand/loadtest/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := make(map[string]string)
	compiled := importer.ForCompiler(w.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for line := range strings.Lines(string(out)) { // a package comes after those that it imports
		fields := strings.Split(strings.TrimSpace(line), "\t")
		exports[fields[0]] = fields[1]
		if fields[0] == "laststand/internal/testenv" || strings.HasPrefix(fields[0], "laststand/loadtest") {
			w.add(t, compiled, fields[0], fields[2], strings.Fields(strings.Trim(fields[3], "[]")))
		}
	}
	return w
}

func (w *mustWalker) add(t *testing.T, compiled types.Importer, path, dir string, names []string) {
	t.Helper()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(w.files, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				w.functions = append(w.functions, f)
			}
		}
	}
	if _, err := (&types.Config{Importer: compiled}).Check(path, w.files, files, &w.info); err != nil {
		t.Fatal(err)
	}
}

// nameOf returns the full name of a function, "" for a value.
func (w *mustWalker) nameOf(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.Ident:
		if of, ok := cmp.Or(w.info.Uses[f], w.info.Defs[f]).(*types.Func); ok {
			return of.Origin().FullName()
		}
	case *ast.SelectorExpr:
		return w.nameOf(f.Sel)
	case *ast.IndexExpr:
		return w.nameOf(f.X)
	}
	return ""
}

// fails reports whether a function fails by Must: it calls a function that does, and does not
// recover. What it starts in other goroutines does not count.
func (w *mustWalker) fails(body ast.Node) (fails bool) {
	recovers := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeferStmt:
			recovers = recovers || w.nameOf(n.Call.Fun) == "laststand/internal/testenv.Recover"
		case *ast.CallExpr:
			fails = fails || w.failing[w.nameOf(n.Fun)]
		case *ast.FuncLit:
			fails = fails || w.fails(n.Body)
			return false
		}
		return len(startedBy(n)) == 0
	})
	return fails && !recovers
}
