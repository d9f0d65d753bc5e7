package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// bankSamples are files of each format. taken is the number of items that the import accepts.
var bankSamples = []struct {
	file, format   string
	taken, skipped int
}{
	{"opentdb.json", "opentdb", 6, 6}, {"school.gift", "gift", 15, 14}, {"spreadsheet.csv", "csv", 7, 9}, {"native.json", "json", 3, 4},
}

func samplePath(file string) string { return filepath.Join("../../internal/quiz/testdata", file) }

// ledgerFlags returns the flags that name a database.
func ledgerFlags(db testenv.SQL) []string {
	return []string{"--data=" + db.Dir, "--database=" + db.URL}
}

// bankCommand runs a command of `server bank` that must succeed.
func bankCommand(t *testing.T, db testenv.SQL, args ...string) string {
	t.Helper()
	code, out, stderr := command(append(append([]string{"bank"}, args...), ledgerFlags(db)...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("bank %v ended with %d: %s\n%s", args, code, stderr, out)
	}
	return out
}

// The command imports each format, detected or named, first as a dry run. A second import adds
// nothing. The output lists skipped items by line and reason.
func TestBankImportReadsEachFormat(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		for _, s := range bankSamples {
			importArgs := []string{"import", "--bank=b." + s.format, "--lang=en", "--category=General", samplePath(s.file)}
			withFormat := slices.Concat(importArgs, []string{"--format=" + s.format})
			wantSummary := fmt.Sprintf("dry run: %d questions would be imported into bank b.%s, %d skipped\n", s.taken, s.format, s.skipped)
			for _, args := range [][]string{slices.Concat(importArgs, []string{"--dry-run"}), slices.Concat(withFormat, []string{"--dry-run"})} {
				out := bankCommand(t, db, args...)
				if !strings.HasSuffix(out, wantSummary) || strings.Count(out, "skipped: line ") != s.skipped {
					t.Errorf("%v printed\n%s", args, out)
				}
			}
			if code, _, stderr := command(append(ledgerFlags(db), "bank", "export", "b."+s.format)...); code != 1 || !strings.Contains(stderr, "bank import") {
				t.Errorf("after a dry run the bank's export ended with %d: %s", code, stderr)
			}
			if out := bankCommand(t, db, importArgs...); !strings.HasSuffix(out, fmt.Sprintf("\n%d questions imported into bank b.%s, %d skipped\n", s.taken, s.format, s.skipped)) {
				t.Errorf("%s: %s", s.file, out)
			}
			secondImport := bankCommand(t, db, importArgs...)
			if !strings.HasSuffix(secondImport, fmt.Sprintf("\n0 questions imported into bank b.%s, %d skipped\n", s.format, s.taken+s.skipped)) ||
				strings.Count(secondImport, "it is the same question as ") != s.taken {
				t.Errorf("%s imported again: %s", s.file, secondImport)
			}
			if out := bankCommand(t, db, "check", "b."+s.format); !strings.Contains(out, fmt.Sprintf("%d questions, 0 errors", s.taken)) {
				t.Errorf("check: %s", out)
			}
		}
	})
}

// An exported bank can be imported again without a loss, and its second export is identical.
func TestAnExportedBankCanBeImportedAgain(t *testing.T) {
	t.Parallel()
	db := testenv.SQL{Dir: t.TempDir()}
	bankCommand(t, db, "import", "--bank=mixed", "--lang=en", "--category=General", samplePath("spreadsheet.csv"))
	bankCommand(t, db, "import", "--bank=mixed", samplePath("opentdb.json"))
	for name, count := range map[string]int{"mixed": 13, "builtin": 340} {
		firstFile, secondFile := filepath.Join(t.TempDir(), "first.json"), filepath.Join(t.TempDir(), "second.json")
		bankCommand(t, db, "export", name, "--out="+firstFile)
		if out := bankCommand(t, db, "import", "--bank=copy."+name, firstFile); out != fmt.Sprintf("%d questions imported into bank copy.%s, 0 skipped\n", count, name) {
			t.Fatalf("%s: %s", name, out)
		}
		bankCommand(t, db, "export", "copy."+name, "--out="+secondFile)
		firstExport, errA := os.ReadFile(firstFile)
		secondExport, errB := os.ReadFile(secondFile)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if strings.Replace(string(firstExport), `"`+name+`"`, `"copy.`+name+`"`, 1) != string(secondExport) {
			t.Errorf("the second export of %s differs from the first", name)
		}
		if printed := bankCommand(t, db, "export", name); printed != string(firstExport) {
			t.Errorf("the export of %s to standard output differs from the export to a file", name)
		}
	}
}

func TestInvalidBankCommandsFailWithAReason(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), folderWithDatabase(t)
	truncated := filepath.Join(dir, "torn.json")
	testenv.NoError(t, os.WriteFile(truncated, []byte(`{"name":"x","questions":[`), 0o600))
	for line, want := range map[string]string{
		"import --bank=builtin " + samplePath("spreadsheet.csv"): "is not a valid name",
		"import --bank=a/b " + samplePath("spreadsheet.csv"):     "--bank",
		"import --bank=b " + filepath.Join(dir, "none.csv"):      "no such file",
		"import --bank=b " + truncated:                           truncated,
		"check none":                                             "does not exist; import it",
		"export none":                                            "does not exist; import it",
		"export builtin --out=" + filepath.Join(dir, "a", "b"):   "write the bank",
		"check " + samplePath("spreadsheet.csv"):                 "has errors",
	} {
		code, _, stderr := command(append([]string{"bank", "--data=" + data}, strings.Fields(line)...)...)
		if code != 1 || !strings.Contains(stderr, want) || strings.Contains(stderr, "panic") {
			t.Errorf("bank %s ended with %d and printed the error %q, want %q", line, code, stderr, want)
		}
	}
}

// A running server asks the questions of a bank within seconds of its import.
func TestARunningServerUsesAnImportedBank(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		bankCommand(t, db, "import", "--bank=mine", questionFile(t, "de", 3))
		node := startNode(t, cli.Flags{Data: &db.Dir, Database: &db.URL, Config: configFile(t, "games: {demo: {banks: [mine], duel: {questions: 3}}}\nlimits: {messages_per_second: 1000, guests_per_minute_per_address: 0}")})
		p := newPlayer(t, node.url)
		if reply := joinDuel(t, p, "fr"); reply.Type != protocol.TypeError {
			t.Fatalf("without French questions, joining a duel was answered with %s", reply.Raw)
		}
		bankCommand(t, db, "import", "--bank=mine", questionFile(t, "fr", 3))
		waitUntil(t, "a duel in French can be played", func() bool { return joinDuel(t, p, "fr").Type == protocol.TypeDuelQueued })
	})
}

// questionFile writes a bank of questions in a language.
func questionFile(t *testing.T, lang string, count int) string {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("text,kind,choice1,choice2,right,lang,category\n")
	for i := range count {
		fmt.Fprintf(&rows, "%s %d?,single,yes,no,1,%s,General\n", lang, i, lang)
	}
	path := filepath.Join(t.TempDir(), "questions.csv")
	testenv.NoError(t, os.WriteFile(path, []byte(rows.String()), 0o600))
	return path
}
