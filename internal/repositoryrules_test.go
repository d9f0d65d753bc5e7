package internal_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A layer is a group of packages with the same rule: which packages and libraries
// they may import.
type layer string

const (
	layerBase        layer = "base"         // the standard library without I/O, and the libraries of its packageRule
	layerGame        layer = "game"         // like base, and also base packages, game packages and gameLibraries
	layerAdapter     layer = "adapter"      // base and game packages and any library, never another adapter
	layerRedis       layer = "redis"        // like adapter, and also internal/redisx
	layerTransport   layer = "transport"    // base packages, game packages and I/O; adapters may import it
	layerProgram     layer = "program"      // everything
	layerWeb         layer = "web"          // no package under internal
	layerLoadtest    layer = "loadtest"     // of the packages under internal only protocol and testenv
	layerTestSupport layer = "test support" // everything; only tests and load programs may import it
)

// A packageRule is the layer of a package, and the libraries that the package may
// import besides those of its layer.
type packageRule struct {
	layer     layer
	libraries []string
}

// packageRules has the rule of every package under internal, by its folder. If you add a
// package, add it here.
var packageRules = map[string]packageRule{
	"internal/protocol": {layerBase, nil},
	"internal/timer":    {layerBase, nil},
	"internal/metric":   {layerBase, []string{"github.com/prometheus/client_golang/prometheus"}},
	"internal/nickname": {layerBase, []string{"golang.org/x/text", "github.com/rivo/uniseg", "github.com/bits-and-blooms/bloom/v3", "go.mau.fi/util/confusable"}},

	"internal/quiz":        {layerGame, []string{"golang.org/x/text"}},
	"internal/match":       {layerGame, nil},
	"internal/arena":       {layerGame, nil},
	"internal/lobby":       {layerGame, nil},
	"internal/leaderboard": {layerGame, nil},
	"internal/settle":      {layerGame, nil},
	"internal/answers":     {layerGame, []string{"github.com/hashicorp/golang-lru/v2", "github.com/xuri/excelize/v2"}},
	"internal/taskqueue":   {layerGame, nil},
	"internal/eventq":      {layerGame, nil},
	"internal/webhook":     {layerGame, nil},
	"internal/identity":    {layerGame, []string{"github.com/golang-jwt/jwt/v5"}},
	"internal/overload":    {layerGame, []string{"github.com/hashicorp/golang-lru/v2"}},

	"internal/match/redismatch":  {layerRedis, nil},
	"internal/eventq/redisqueue": {layerRedis, nil},
	"internal/redisstore":        {layerRedis, nil},
	"internal/eventq/sink":       {layerAdapter, nil},
	"internal/ledger":            {layerAdapter, nil},
	"internal/ws":                {layerAdapter, nil},
	"internal/wsconn":            {layerTransport, nil},
	"internal/httpapi":           {layerAdapter, nil},
	"internal/ops":               {layerAdapter, nil},
	"internal/redisx":            {layerAdapter, nil},
	"internal/httpserver":        {layerTransport, nil},

	"internal/config": {layerProgram, nil},
	"internal/cli":    {layerProgram, nil},

	"internal/testenv": {layerTestSupport, nil},
	"deploy/proxies":   {layerBase, nil},
}

// gameLibraries may be imported by every game package.
var gameLibraries = []string{
	"github.com/oklog/ulid/v2",
	"github.com/prometheus/client_golang/prometheus",
	"golang.org/x/sync",
	"golang.org/x/time/rate",
}

// ioPackages are the packages of the standard library for I/O outside the process. Base
// and game packages must not import them.
var ioPackages = []string{"database/sql", "net", "net/http", "os", "os/exec", "syscall"}

// vagueNames are names that files and folders must not have, because they do not say
// what the file is about.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "manager", "types"}

// maxLuaLines limits the length of a script, because Redis runs nothing else while it
// runs a script.
const maxLuaLines = 120

const modulePrefix = "laststand/"

func TestRepositoryRulesHold(t *testing.T) {
	t.Parallel()
	violations, err := findViolations(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations {
		t.Error(violation)
	}
}

// findViolations returns every violation of the rules in a repository.
func findViolations(repository fs.FS) ([]string, error) {
	var violations []string
	err := fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && isForeignFolder(entry.Name()) {
				return fs.SkipDir
			}
			violations = append(violations, checkName(name)...)
			return nil
		}
		found, err := checkFile(repository, name)
		violations = append(violations, found...)
		return err
	})
	return violations, err
}

// isForeignFolder reports whether a folder has no code of this project.
func isForeignFolder(folder string) bool {
	return strings.HasPrefix(folder, ".") || slices.Contains([]string{"testdata", "vendor", "node_modules", "data"}, folder)
}

func checkFile(repository fs.FS, name string) ([]string, error) {
	extension := path.Ext(name)
	if extension != ".go" && extension != ".lua" {
		return nil, nil
	}
	text, err := fs.ReadFile(repository, name)
	if err != nil {
		return nil, err
	}
	violations := checkName(name)
	if extension == ".lua" {
		return append(violations, checkLua(name, string(text))...), nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []string
	for _, spec := range file.Imports {
		imports = append(imports, strings.Trim(spec.Path.Value, "`\""))
	}
	return append(violations, checkGoImports(name, imports)...), nil
}

// checkName checks the name of a file or folder.
func checkName(name string) []string {
	base := path.Base(name)
	stem := strings.TrimSuffix(strings.TrimSuffix(base, path.Ext(base)), "_test")
	if slices.Contains(vagueNames, stem) {
		return []string{fmt.Sprintf("%s: the name is vague; name it after what it contains", name)}
	}
	return nil
}

func checkLua(name, text string) []string {
	var violations []string
	if n := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1; n > maxLuaLines {
		violations = append(violations, fmt.Sprintf("%s: %d lines; use at most %d: split the script", name, n, maxLuaLines))
	}
	var header strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			break
		}
		header.WriteString(strings.ToLower(line))
	}
	for _, word := range []string{"keys", "argv", "returns"} {
		if !strings.Contains(header.String(), word) {
			violations = append(violations, fmt.Sprintf("%s: the comment at its start does not contain %q", name, word))
		}
	}
	return violations
}

// checkGoImports checks the imports of a Go file. Tests may import anything.
func checkGoImports(name string, imports []string) []string {
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	folder := path.Dir(name)
	rule, known := ruleFor(folder)
	if !known {
		return []string{fmt.Sprintf("%s: its package has no rule: add it to packageRules in internal/repositoryrules_test.go", name)}
	}
	var violations []string
	for _, imported := range imports {
		if reason := forbiddenReason(rule, imported); reason != "" {
			violations = append(violations, fmt.Sprintf("%s imports %s: %s", name, imported, reason))
		}
	}
	return violations
}

// ruleFor returns the rule of the package in a folder; false if it has none.
func ruleFor(folder string) (packageRule, bool) {
	top, _, _ := strings.Cut(folder, "/")
	switch {
	case folder == "cmd/server":
		return packageRule{layer: layerProgram}, true
	case folder == "docs": // embeds the contracts, which httpapi serves
		return packageRule{layer: layerBase}, true
	case top == "web", top == "packaging": // packaging is a module of its own
		return packageRule{layer: layerWeb}, true
	case top == "loadtest":
		return packageRule{layer: layerLoadtest}, true
	}
	rule, known := packageRules[folder]
	return rule, known
}

// forbiddenReason returns why a package with this rule must not import another, or "" if it
// may.
func forbiddenReason(rule packageRule, imported string) string {
	if importedFolder, ok := strings.CutPrefix(imported, modulePrefix); ok {
		return forbiddenPackageReason(rule, importedFolder)
	}
	if rule.layer != layerBase && rule.layer != layerGame {
		return ""
	}
	if slices.Contains(ioPackages, imported) {
		return "only adapters do I/O outside the process"
	}
	allowed := rule.libraries
	if rule.layer == layerGame {
		allowed = slices.Concat(allowed, gameLibraries)
	}
	if isStandard(imported) || slices.ContainsFunc(allowed, func(library string) bool { return isWithin(imported, library) }) {
		return ""
	}
	return fmt.Sprintf("a %s package may import only the libraries that internal/repositoryrules_test.go lists for it", rule.layer)
}

func forbiddenPackageReason(rule packageRule, imported string) string {
	other, known := ruleFor(imported)
	switch {
	case !known:
		return "it has no rule"
	case other.layer == layerTestSupport && rule.layer == layerLoadtest:
		return ""
	case other.layer == layerTestSupport:
		return "it is for tests and load programs only"
	case other.layer == layerProgram && (rule.layer != layerProgram || imported == "cmd/server"):
		return "no package may import cmd/server, and only it may import its packages internal/config and internal/cli"
	case rule.layer == layerProgram, rule.layer == layerWeb && other.layer == layerWeb, rule.layer == layerLoadtest && other.layer == layerLoadtest:
		return ""
	case rule.layer == layerWeb:
		return "web may import no package under internal"
	case rule.layer == layerLoadtest && imported != "internal/protocol":
		return "loadtest may import only internal/protocol and internal/testenv"
	case rule.layer == layerBase:
		return "base packages may import only the standard library"
	case rule.layer == layerRedis && imported == "internal/redisx", rule.layer == layerAdapter && other.layer == layerTransport:
		return ""
	case rule.layer == layerTransport && other.layer != layerBase && other.layer != layerGame, other.layer == layerTransport && rule.layer != layerTestSupport:
		return "a transport may import only base and game packages, and only adapters may import it"
	case (other.layer == layerAdapter || other.layer == layerRedis) && rule.layer != layerTestSupport:
		return "only cmd/server may import adapters"
	case other.layer == layerWeb || other.layer == layerLoadtest:
		return "only cmd/server may import it"
	}
	return ""
}

// isStandard reports whether a package is of the standard library: such packages have no
// dot in the first part of their path.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func isWithin(imported, library string) bool {
	return imported == library || strings.HasPrefix(imported, library+"/")
}

// Each sample violates exactly one rule, and that violation is found.
func TestRepositoryRulesFindViolations(t *testing.T) {
	t.Parallel()
	imports := func(paths ...string) string {
		return "package p\nimport (\n\"" + strings.Join(paths, "\"\n\"") + "\"\n)\n"
	}
	const header = "-- KEYS 1: the match\n-- ARGV none\n-- returns 1\n"
	tests := map[string]struct{ file, text, want string }{
		"a library in a base package":            {"internal/timer/a.go", imports("github.com/google/uuid"), "only the libraries"},
		"a library of another package":           {"internal/protocol/a.go", imports("golang.org/x/text/cases"), "only the libraries"},
		"a game package in a base one":           {"internal/timer/a.go", imports("laststand/internal/match"), "only the standard library"},
		"a base package in another":              {"internal/nickname/a.go", imports("laststand/internal/timer"), "only the standard library"},
		"a file read by a game package":          {"internal/match/a.go", imports("os"), "only adapters do I/O"},
		"a library in a game package":            {"internal/lobby/a.go", imports("github.com/redis/go-redis/v9"), "only the libraries"},
		"tokens outside identity":                {"internal/settle/a.go", imports("github.com/golang-jwt/jwt/v5"), "only the libraries"},
		"an adapter in a game package":           {"internal/match/a.go", imports("laststand/internal/match/redismatch"), "may import adapters"},
		"an adapter in an adapter":               {"internal/ws/a.go", imports("laststand/internal/ledger"), "may import adapters"},
		"the Redis connection in the ledger":     {"internal/ledger/a.go", imports("laststand/internal/redisx"), "may import adapters"},
		"the Redis connection in a game package": {"internal/match/a.go", imports("laststand/internal/redisx"), "may import adapters"},
		"a Redis adapter in another":             {"internal/redisstore/a.go", imports("laststand/internal/match/redismatch"), "may import adapters"},
		"a transport in a game package":          {"internal/match/a.go", imports("laststand/internal/wsconn"), "only adapters may import it"},
		"the web page in an adapter":             {"internal/httpapi/a.go", imports("laststand/web"), "only cmd/server"},
		"cmd/server in another package":          {"internal/ops/a.go", imports("laststand/cmd/server"), "may import cmd/server"},
		"cmd/server in the command line":         {"internal/cli/a.go", imports("laststand/cmd/server"), "may import cmd/server"},
		"the configuration in an adapter":        {"internal/ops/a.go", imports("laststand/internal/config"), "only it may import its packages"},
		"an internal package in docs":            {"docs/a.go", imports("laststand/internal/protocol"), "only the standard library"},
		"an internal package in web":             {"web/a.go", imports("laststand/internal/protocol"), "no package under internal"},
		"a game package in loadtest":             {"loadtest/swarm/a.go", imports("laststand/internal/match"), "only internal/protocol"},
		"test support in the product":            {"cmd/server/a.go", imports("laststand/internal/testenv"), "tests and load programs only"},
		"a new package without a rule":           {"internal/voice/a.go", "package voice\n", "has no rule"},
		"a new command without a rule":           {"cmd/other/a.go", "package main\n", "has no rule"},
		"the import of a package without a rule": {"internal/ws/a.go", imports("laststand/internal/voice"), "has no rule"},
		"a vague file name":                      {"internal/quiz/utils.go", "package quiz\n", "is vague"},
		"a vague test file name":                 {"internal/quiz/helpers_test.go", "package quiz\n", "is vague"},
		"a vague folder name":                    {"internal/common/doc.txt", "", "is vague"},
		"a long script":                          {"internal/match/redismatch/a.lua", header + strings.Repeat("local a\n", maxLuaLines), "at most"},
		"a script without keys":                  {"internal/match/redismatch/a.lua", "-- ARGV none, returns 1\nKEYS", `"keys"`},
		"a script without arguments":             {"internal/match/redismatch/a.lua", "-- KEYS 1, returns 1\n", `"argv"`},
		"a script without a result":              {"internal/match/redismatch/a.lua", "-- KEYS 1, ARGV 1\n", `"returns"`},
	}
	for name, test := range tests {
		violations, err := findViolations(fstest.MapFS{test.file: {Data: []byte(test.text)}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(violations) != 1 || !strings.Contains(violations[0], test.want) {
			t.Errorf("%s: %q, want one violation with %q", name, violations, test.want)
		}
	}
}

func TestRepositoryRulesAllowValidFiles(t *testing.T) {
	t.Parallel()
	files := map[string][]string{
		"internal/quiz/a.go":             {"strings", "golang.org/x/text/unicode/norm", "laststand/internal/timer"},
		"internal/timer/a.go":            {"time"},
		"internal/match/a.go":            {"log/slog", "golang.org/x/sync/errgroup", "laststand/internal/quiz", "laststand/internal/settle"},
		"internal/identity/a.go":         {"github.com/golang-jwt/jwt/v5"},
		"internal/ledger/a.go":           {"database/sql", "os", "github.com/jackc/pgx/v5", "laststand/internal/settle"},
		"internal/match/match_test.go":   {"os", "pgregory.net/rapid", "laststand/internal/testenv", "laststand/internal/match/redismatch"},
		"internal/match/redismatch/a.go": {"laststand/internal/match", "laststand/internal/redisx"},
		"internal/testenv/a.go":          {"testing", "laststand/internal/redisx"},
		"cmd/server/a.go":                {"laststand/internal/ws", "laststand/internal/ledger", "laststand/web"},
		"internal/httpapi/a.go":          {"net/http", "laststand/docs"},
		"internal/ws/a.go":               {"laststand/internal/wsconn"},
		"internal/wsconn/a.go":           {"net", "syscall", "laststand/internal/protocol"},
		"docs/docs.go":                   {"embed"},
		"loadtest/swarm/a.go":            {"laststand/internal/protocol", "laststand/internal/testenv", "laststand/loadtest/players", "github.com/gorilla/websocket"},
		".cache/util.go":                 {"laststand/internal/testenv"},
		"internal/quiz/testdata/a.go":    {"laststand/internal/testenv"},
	}
	tree := fstest.MapFS{
		"internal/match/redismatch/a.lua": {Data: []byte("-- KEYS 1\n-- ARGV 1\n-- Returns 1\n" + strings.Repeat("local a\n", maxLuaLines-3))},
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		tree[name] = &fstest.MapFile{Data: []byte("package p\nimport (\n\"" + strings.Join(files[name], "\"\n\"") + "\"\n)\n")}
	}
	violations, err := findViolations(tree)
	if err != nil || len(violations) > 0 {
		t.Errorf("%q, %v", violations, err)
	}
}
