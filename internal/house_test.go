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
type floor string

const (
	ground  floor = "base"         // the standard library without I/O, and the libraries of its packageRule
	game    floor = "game"         // like base, and also base packages, game packages and gameLibraries
	edge    floor = "adapter"      // base and game packages and any library, never another adapter
	roof    floor = "program"      // everything
	web     floor = "web"          // no package under internal
	load    floor = "loadtest"     // of the packages under internal only protocol and testenv
	support floor = "test support" // everything; only tests and load programs may import it
)

// A packageRule is the layer of a package, and the libraries that the package may
// import besides those of its layer.
type room struct {
	floor     floor
	libraries []string
}

// packageRules has the rule of every package under internal, by its folder. If you add a
// package, add it here.
var rooms = map[string]room{
	"internal/quiz":              {ground, []string{"golang.org/x/text"}},
	"internal/protocol":          {ground, nil},
	"internal/timer":             {ground, []string{"github.com/RussellLuo/timingwheel"}},
	"internal/rating":            {ground, nil},
	"internal/webhook/signature": {ground, nil},
	"internal/lua":               {ground, nil},
	"internal/origin":            {ground, nil},
	"internal/audit":             {ground, nil},
	"internal/nickname":          {ground, []string{"golang.org/x/text", "github.com/rivo/uniseg", "github.com/bits-and-blooms/bloom/v3", "go.mau.fi/util/confusable"}},

	"internal/match":               {game, nil},
	"internal/arena":               {game, nil},
	"internal/lobby":               {game, nil},
	"internal/leaderboard":         {game, nil},
	"internal/leaderboard/display": {game, nil},
	"internal/settle":              {game, nil},
	"internal/taskqueue":           {game, nil},
	"internal/eventq":              {game, nil},
	"internal/eventq/playerevents": {game, nil},
	"internal/webhook":             {game, nil},
	"internal/limit":               {game, nil},
	"internal/identity":            {game, []string{"github.com/golang-jwt/jwt/v5"}},
	"internal/loadshed":            {game, nil},

	"internal/identity/namefile":      {edge, nil},
	"internal/quiz/bank":              {edge, nil},
	"internal/match/redismatch":       {edge, nil},
	"internal/lobby/redislobby":       {edge, nil},
	"internal/leaderboard/redisboard": {edge, nil},
	"internal/eventq/redisqueue":      {edge, nil},
	"internal/eventq/filesink":        {edge, nil},
	"internal/eventq/webhooksink":     {edge, nil},
	"internal/eventq/nppa":            {edge, nil},
	"internal/webhook/httpposter":     {edge, nil},
	"internal/webhook/safehttp":       {edge, nil},
	"internal/ledger":                 {edge, nil},
	"internal/ws":                     {edge, nil},
	"internal/ws/redissession":        {edge, nil},
	"internal/identity/redisnames":    {edge, nil},
	"internal/limit/redislimit":       {edge, nil},
	"internal/httpapi":                {edge, nil},
	"internal/ops":                    {edge, nil},
	"internal/redisx":                 {edge, nil},
	"internal/proxies":                {edge, nil},
	"internal/certificate":            {edge, nil},
	"internal/httpguard":              {edge, nil},

	"internal/testenv": {support, nil},
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
var outside = []string{"database/sql", "net", "net/http", "os", "os/exec", "syscall"}

// vagueNames are names that files and folders must not have, because they do not say
// what the file is about.
var vague = []string{"util", "utils", "common", "helper", "helpers", "manager", "types"}

// maxLuaLines limits the length of a script, because Redis runs nothing else while it
// runs a script.
const maxLua = 60

const module = "laststand/"

func TestHouse(t *testing.T) {
	t.Parallel()
	faults, err := inspect(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// inspect returns every violation of the rules in a repository.
func inspect(repository fs.FS) ([]string, error) {
	var faults []string
	err := fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && foreign(entry.Name()) {
				return fs.SkipDir
			}
			faults = append(faults, inspectName(name)...)
			return nil
		}
		found, err := inspectFile(repository, name)
		faults = append(faults, found...)
		return err
	})
	return faults, err
}

// foreign reports whether a folder has no code of this project.
func foreign(folder string) bool {
	return strings.HasPrefix(folder, ".") || slices.Contains([]string{"testdata", "vendor", "node_modules", "data"}, folder)
}

func inspectFile(repository fs.FS, name string) ([]string, error) {
	extension := path.Ext(name)
	if extension != ".go" && extension != ".lua" {
		return nil, nil
	}
	text, err := fs.ReadFile(repository, name)
	if err != nil {
		return nil, err
	}
	faults := inspectName(name)
	if extension == ".lua" {
		return append(faults, inspectLua(name, string(text))...), nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []string
	for _, spec := range file.Imports {
		imports = append(imports, strings.Trim(spec.Path.Value, "`\""))
	}
	return append(faults, inspectGo(name, imports)...), nil
}

// inspectName checks the name of a file or folder.
func inspectName(name string) []string {
	base := path.Base(name)
	noun := strings.TrimSuffix(strings.TrimSuffix(base, path.Ext(base)), "_test")
	if slices.Contains(vague, noun) {
		return []string{fmt.Sprintf("%s: the name is vague; name it after what it contains", name)}
	}
	return nil
}

func inspectLua(name, text string) []string {
	var faults []string
	if n := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1; n > maxLua {
		faults = append(faults, fmt.Sprintf("%s: %d lines; use at most %d: split the script", name, n, maxLua))
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
			faults = append(faults, fmt.Sprintf("%s: the comment at its start does not contain %q", name, word))
		}
	}
	return faults
}

// inspectGo checks the imports of a Go file. Tests may import anything.
func inspectGo(name string, imports []string) []string {
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	folder := path.Dir(name)
	here, known := classify(folder)
	if !known {
		return []string{fmt.Sprintf("%s: its package has no rule: add it to packageRules in internal/repositoryrules_test.go", name)}
	}
	var faults []string
	for _, imported := range imports {
		if reason := forbidden(here, imported); reason != "" {
			faults = append(faults, fmt.Sprintf("%s imports %s: %s", name, imported, reason))
		}
	}
	return faults
}

// ruleFor returns the rule of the package in a folder; false if it has none.
func classify(folder string) (room, bool) {
	top, _, _ := strings.Cut(folder, "/")
	switch {
	case folder == "cmd/server":
		return room{floor: roof}, true
	case folder == "docs": // embeds the contracts, which httpapi serves
		return room{floor: ground}, true
	case top == "web":
		return room{floor: web}, true
	case top == "loadtest":
		return room{floor: load}, true
	}
	r, known := rooms[folder]
	return r, known
}

// forbidden returns why a package with this rule must not import another, or "" if it
// may.
func forbidden(here room, imported string) string {
	if ours, ok := strings.CutPrefix(imported, module); ok {
		return forbiddenRoom(here, ours)
	}
	if here.floor != ground && here.floor != game {
		return ""
	}
	if slices.Contains(outside, imported) {
		return "only adapters do I/O outside the process"
	}
	allowed := here.libraries
	if here.floor == game {
		allowed = slices.Concat(allowed, gameLibraries)
	}
	if standard(imported) || slices.ContainsFunc(allowed, func(library string) bool { return within(imported, library) }) {
		return ""
	}
	return fmt.Sprintf("a %s package may import only the libraries that internal/repositoryrules_test.go lists for it", here.floor)
}

func forbiddenRoom(here room, ours string) string {
	other, known := classify(ours)
	switch {
	case !known:
		return "it has no rule"
	case other.floor == support && here.floor == load:
		return ""
	case other.floor == support:
		return "it is for tests and load programs only"
	case other.floor == roof:
		return "no package may import cmd/server"
	case here.floor == roof, here.floor == web && other.floor == web, here.floor == load && other.floor == load:
		return ""
	case here.floor == web:
		return "web may import no package under internal"
	case here.floor == load && ours != "internal/protocol":
		return "loadtest may import only internal/protocol and internal/testenv"
	case here.floor == ground:
		return "base packages may import only the standard library"
	case other.floor == edge && here.floor != support:
		return "only cmd/server may import adapters"
	case other.floor == web || other.floor == load:
		return "only cmd/server may import it"
	}
	return ""
}

// standard reports whether a package is of the standard library: such packages have no
// dot in the first part of their path.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func within(imported, library string) bool {
	return imported == library || strings.HasPrefix(imported, library+"/")
}

// Each sample violates exactly one rule, and that violation is found.
func TestHouseFindsBreaches(t *testing.T) {
	t.Parallel()
	imports := func(paths ...string) string {
		return "package p\nimport (\n\"" + strings.Join(paths, "\"\n\"") + "\"\n)\n"
	}
	const header = "-- KEYS 1: the match\n-- ARGV none\n-- returns 1\n"
	tests := map[string]struct{ file, text, want string }{
		"a library in a base package":            {"internal/quiz/a.go", imports("github.com/google/uuid"), "only the libraries"},
		"a library of another package":           {"internal/protocol/a.go", imports("golang.org/x/text/cases"), "only the libraries"},
		"a game package in a base one":           {"internal/rating/a.go", imports("laststand/internal/match"), "only the standard library"},
		"a base package in another":              {"internal/nickname/a.go", imports("laststand/internal/quiz"), "only the standard library"},
		"a file read by a game package":          {"internal/match/a.go", imports("os"), "only adapters do I/O"},
		"a library in a game package":            {"internal/lobby/a.go", imports("github.com/redis/go-redis/v9"), "only the libraries"},
		"tokens outside identity":                {"internal/settle/a.go", imports("github.com/golang-jwt/jwt/v5"), "only the libraries"},
		"an adapter in a game package":           {"internal/match/a.go", imports("laststand/internal/match/redismatch"), "may import adapters"},
		"an adapter in an adapter":               {"internal/ws/a.go", imports("laststand/internal/ledger"), "may import adapters"},
		"the Redis connection in an adapter":     {"internal/match/redismatch/a.go", imports("laststand/internal/redisx"), "may import adapters"},
		"the web page in an adapter":             {"internal/httpapi/a.go", imports("laststand/web"), "only cmd/server"},
		"cmd/server in another package":          {"internal/ops/a.go", imports("laststand/cmd/server"), "may import cmd/server"},
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
		"a long script":                          {"internal/match/redismatch/a.lua", header + strings.Repeat("local a\n", maxLua), "at most"},
		"a script without keys":                  {"internal/match/redismatch/a.lua", "-- ARGV none, returns 1\nKEYS", `"keys"`},
		"a script without arguments":             {"internal/match/redismatch/a.lua", "-- KEYS 1, returns 1\n", `"argv"`},
		"a script without a result":              {"internal/match/redismatch/a.lua", "-- KEYS 1, ARGV 1\n", `"returns"`},
	}
	for name, test := range tests {
		faults, err := inspect(fstest.MapFS{test.file: {Data: []byte(test.text)}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(faults) != 1 || !strings.Contains(faults[0], test.want) {
			t.Errorf("%s: %q, want one violation with %q", name, faults, test.want)
		}
	}
}

func TestHouseAllowsTheRest(t *testing.T) {
	t.Parallel()
	files := map[string][]string{
		"internal/quiz/a.go":               {"strings", "golang.org/x/text/unicode/norm"},
		"internal/timer/a.go":              {"time", "github.com/RussellLuo/timingwheel"},
		"internal/match/a.go":              {"log/slog", "golang.org/x/sync/errgroup", "laststand/internal/quiz", "laststand/internal/settle"},
		"internal/identity/a.go":           {"github.com/golang-jwt/jwt/v5"},
		"internal/ledger/a.go":             {"database/sql", "os", "github.com/jackc/pgx/v5", "laststand/internal/settle"},
		"internal/match/match_test.go":     {"os", "pgregory.net/rapid", "laststand/internal/testenv", "laststand/internal/match/redismatch"},
		"internal/testenv/a.go":            {"testing", "laststand/internal/redisx"},
		"cmd/server/a.go":                  {"laststand/internal/ws", "laststand/internal/ledger", "laststand/web"},
		"internal/httpapi/a.go":            {"net/http", "laststand/docs"},
		"docs/docs.go":                     {"embed"},
		"loadtest/swarm/a.go":              {"laststand/internal/protocol", "laststand/internal/testenv", "laststand/loadtest/client", "github.com/gorilla/websocket"},
		".cache/util.go":                   {"laststand/internal/testenv"},
		"internal/quiz/bank/testdata/a.go": {"laststand/internal/testenv"},
	}
	tree := fstest.MapFS{
		"internal/match/redismatch/a.lua": {Data: []byte("-- KEYS 1\n-- ARGV 1\n-- Returns 1\n" + strings.Repeat("local a\n", maxLua-3))},
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		tree[name] = &fstest.MapFile{Data: []byte("package p\nimport (\n\"" + strings.Join(files[name], "\"\n\"") + "\"\n)\n")}
	}
	faults, err := inspect(tree)
	if err != nil || len(faults) > 0 {
		t.Errorf("%q, %v", faults, err)
	}
}
