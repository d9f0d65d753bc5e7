package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"laststand/internal/cli"
	"laststand/internal/ledger"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// commandPaths lists the words of a command and of the commands below it.
func commandPaths(n *kong.Node) [][]string {
	all := [][]string{strings.Fields(n.Path())}
	for _, child := range n.Children {
		all = append(all, commandPaths(child)...)
	}
	return all
}

func TestEveryCommandPrintsItsHelp(t *testing.T) {
	t.Parallel()
	model := testenv.Need(cli.Model())(t)
	for _, path := range commandPaths(model.Node) {
		code, out, stderr := command(append(path, "--help")...)
		if code != 0 || stderr != "" || !strings.Contains(out, "Example: ") || !strings.Contains(out, "Usage: server") {
			t.Errorf("%v --help ended with %d: %s\n%s", path, code, stderr, out)
		}
	}
}

func TestHelpIsTheFirstWordOfACommandLineToo(t *testing.T) {
	t.Parallel()
	for line, same := range map[string]string{"help": "--help", "help webhooks list": "webhooks list --help"} {
		code, out, stderr := command(strings.Fields(line)...)
		if _, want, _ := command(strings.Fields(same)...); code != 0 || stderr != "" || out != want {
			t.Errorf("%s ended with %d, printed %q and said %q; want the text of %s", line, code, out, stderr, same)
		}
	}
}

// A command in a folder without a database creates nothing there.
func TestACommandInAWrongFolderFails(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"token --role player --game demo --sub x", "webhooks list", "bank check builtin"} {
		dir := filepath.Join(t.TempDir(), "data")
		code, out, stderr := command(append(strings.Fields(line), "--data="+dir)...)
		if code != 1 || out != "" || !strings.Contains(stderr, "no database in the folder "+dir+"; use the --data") {
			t.Errorf("%s ended with %d, printed %q and said %q", line, code, out, stderr)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s created the folder: %v", line, err)
		}
	}
}

// folderWithDatabase returns a new folder with an embedded database.
func folderWithDatabase(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	createDatabase(t, testenv.SQL{Dir: dir})
	return dir
}

// createDatabase creates the tables of a server that starts later. Commands need them.
func createDatabase(t *testing.T, db testenv.SQL) {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: discardLog()})
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An empty command line ends with 2 and one line on standard error, which names the help to
// read.
func TestInvalidCommandLinesNameTheHelpToRead(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--nope":                                 "`server --help`",
		"nope":                                   "`server --help`",
		"serve now":                              "unexpected argument now; see `server --help`",
		"bogus":                                  "unknown command bogus; see `server --help`",
		"help bogus":                             "unknown command bogus; see `server --help`",
		"webhook list":                           "unknown command webhook, did you mean \"webhooks\"? See `server --help`",
		"webhooks lst":                           "unknown command lst, did you mean \"list\"? See `server webhooks --help`",
		"--listen":                               "`server --help`",
		"bank":                                   "`server bank --help`",
		"bank burn":                              "`server bank --help`",
		"bank import x.csv":                      "`server bank import --help`",
		"bank import --bank b":                   "`server bank import --help`",
		"bank import --bank b --format xml x":    "`server bank import --help`",
		"bank import --bank b --difficulty no x": "`server bank import --help`",
		"bank export":                            "`server bank export --help`",
		"token":                                  "`server token --help`",
		"token --role king --sub x":              "`server token --help`",
		"token --role admin --sub x --ttl soon":  "`server token --help`",
		"config now":                             "`server config --help`",
		"version now":                            "`server version --help`",
		"boards":                                 "`server boards --help`",
		"boards verify":                          "`server boards verify --help`",
		"boards disqualify --game demo --match m": "`server boards disqualify --help`",
		"tasks list --state alive":                "`server tasks list --help`",
		"task-queues list --limit few":            "`server task-queues list --help`",
		"tasks edit t1":                           "`server tasks edit --help`",
		"bans":                                    "`server bans --help`",
		"bans add --game demo --player p":         "`server bans add --help`",
		"bans remove --game demo":                 "`server bans remove --help`",
		"tokens revoke --game demo --reason r":    "`server tokens revoke --help`",
		"tokens restore --subject p":              "`server tokens restore --help`",
		"tokens list-revoked":                     "`server tokens list-revoked --help`",
		"days confirm --game demo":                "`server days confirm --help`",
		"days confirm --game demo --day soon":     "`server days confirm --help`",
		"players erase --game demo":               "`server players erase --help`",
		"keys retire --game demo":                 "`server keys retire --help`",
		"queue":                                   "`server queue --help`",
		"queue peek":                              "`server queue peek --help`",
		"queue drain --game":                      "`server queue drain --help`",
		"queue pause --game demo":                 "`server queue pause --help`",
		"queue resume":                            "`server queue resume --help`",
		"queue set-max-len --game demo":           "`server queue set-max-len --help`",
		"queue set-max-len --game demo many":      "`server queue set-max-len --help`",
		"queue show-key":                          "`server queue show-key --help`",
		"webhooks ping rewards":                   "`server webhooks ping --help`",
		"webhooks enable --game demo":             "`server webhooks enable --help`",
		"webhooks disable --game demo rewards":    "`server webhooks disable --help`",
		"webhooks show-key":                       "`server webhooks show-key --help`",
	} {
		code, out, stderr := command(strings.Fields(line)...)
		if code != 2 || out != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q ended with %d, printed %q and the error %q; want 2 and one line that names %s", line, code, out, stderr, want)
		}
	}
}

// testPI is the id of a verified person (PI) in the NPPA's test system.
const testPI = "1fffbjzos82bs9cnyj1dna7d6d29zg4esnh99u"

func TestInvalidTokenCommandsFail(t *testing.T) {
	t.Parallel()
	data := "--data=" + folderWithDatabase(t)
	for line, want := range map[string]string{
		"--role=player --sub=x":                          "needs the claim game",
		"--role=player --sub=x --game=nope":              `game "nope" is not in the configuration: no --config was given`,
		"--role=admin --sub=x --game=demo":               "role admin must have no game",
		"--role=player --sub=x --game=dem":               `no --config was given; did you mean demo?`,
		"--role=player --sub=a/b --game=demo":            "sub must be",
		"--role=player --sub=x --game=demo --ttl=-1":     "duration",
		"--role=player --sub=x --game=demo --ttl=0s":     "use 1 s or more",
		"--role=player --sub=x --game=demo --pi=x":       "38 of a-z 0-9",
		"--role=host --sub=x --game=demo --pi=" + testPI: "only a player has one",
	} {
		code, out, stderr := command(append([]string{"token", data}, strings.Fields(line)...)...)
		if code == 0 || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("token %s ended with %d, printed %q and the error %q, want %q", line, code, out, stderr, want)
		}
	}
}

// A command prints a token alone on a line while a server runs, and the server accepts it.
func TestARunningServerAcceptsTokensOfTheTokenCommand(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		node := startNode(t, cli.Flags{Data: &db.Dir, Database: &db.URL})
		token := func(args ...string) string {
			t.Helper()
			code, out, stderr := command(append([]string{"token", "--data=" + db.Dir, "--database=" + db.URL}, args...)...)
			if code != 0 || stderr != "" || strings.Count(out, "\n") != 1 || strings.Count(out, ".") != 2 {
				t.Fatalf("token %v ended with %d, printed %q and the error %q", args, code, out, stderr)
			}
			return strings.TrimSpace(out)
		}
		playerToken := token("--game=demo", "--role=player", "--sub=p_42")
		p, err := player.Connect(t.Context(), node.url, player.Guest{Token: playerToken}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		if p.Welcome.PlayerID != "p_42" || p.Welcome.Nickname == "" {
			t.Errorf("welcome: %+v", p.Welcome)
		}
		verifiedToken := token("--game=demo", "--role=player", "--sub=p_44", "--pi="+testPI)
		if claims := decodeClaims(t, verifiedToken); claims.PI != testPI || decodeClaims(t, playerToken).PI != "" {
			t.Errorf("a token of a verified player claims %+v", claims)
		}
		shortToken := token("--game=demo", "--role=player", "--sub=p_43", "--ttl=1h30m")
		if lifetime := tokenLifetime(t, shortToken); lifetime != 90*time.Minute {
			t.Errorf("a token of 1h30m lasts %v", lifetime)
		}
		for bearer, want := range map[string]int{
			"": http.StatusUnauthorized, playerToken: http.StatusUnauthorized, token("--role=admin", "--sub=ops"): http.StatusOK,
			token("--game=demo", "--role=service", "--sub=ops"): http.StatusUnauthorized,
		} {
			if status := send(t, http.MethodGet, node.opsURL+"/debug/pprof/goroutine", bearer, nil).status; status != want {
				t.Errorf("a request for a runtime profile got %d, want %d", status, want)
			}
		}
	})
}

func tokenLifetime(t *testing.T, token string) time.Duration {
	t.Helper()
	parsed := decodeClaims(t, token)
	return time.Duration(parsed.Exp-parsed.Iat) * time.Second
}

// claims are some of the claims of a token.
type claims struct {
	Iat, Exp int64
	PI       string
}

func decodeClaims(t *testing.T, token string) (parsed claims) {
	t.Helper()
	encoded := testenv.Need(base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1]))(t)
	testenv.NoError(t, json.Unmarshal(encoded, &parsed))
	return parsed
}
