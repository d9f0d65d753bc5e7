package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

// A migration of the next release changes nothing that programs of this release need. It may
// create tables, indexes, and columns that rows without a value can have. It may drop what the release
// before no longer uses. Then its first line says since which version of the tables, for example:
//
//	-- contract: unused since 203
func TestMigrationsKeepFormerProgramsWorking(t *testing.T) {
	t.Parallel()
	files, err := migrationFiles.ReadDir("migrations")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	for _, file := range files[1:] { // no program is older than the first
		text := testenv.Need(migrationFiles.ReadFile("migrations/" + file.Name()))(t)
		version, err := strconv.ParseInt(file.Name()[:5], 10, 64)
		if err != nil {
			t.Fatalf("%s: a name begins with five digits: %v", file.Name(), err)
		}
		for _, fault := range migrationFaults(version, string(text)) {
			t.Errorf("%s: %s", file.Name(), fault)
		}
	}
}

func TestMigrationRulesFindViolations(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE new (id BIGINT PRIMARY KEY);"
	for text, isAllowed := range map[string]bool{
		"ALTER TABLE players ADD COLUMN x BIGINT NOT NULL DEFAULT 0":                 true,
		"ALTER TABLE players ADD COLUMN x TEXT; -- it may be NULL":                   true,
		"CREATE INDEX players_x ON players (x)":                                      true,
		table + "CREATE UNIQUE INDEX new_x ON new (x)":                               true,
		"-- contract: unused since 299\nALTER TABLE players DROP COLUMN x":           true,
		"-- contract: unused since 299\nDROP TABLE voids; DROP INDEX players_x":      true,
		"-- contract: unused since 300\nDROP TABLE voids":                            false,
		"-- contract: unused since 299\nALTER TABLE players RENAME COLUMN x TO y":    false,
		"ALTER TABLE players ADD COLUMN x BIGINT NOT NULL":                           false,
		"ALTER TABLE players ADD COLUMN x BIGINT UNIQUE":                             false,
		"ALTER TABLE players ADD COLUMN x BIGINT DEFAULT 0 CHECK (x > 0)":            false,
		"ALTER TABLE players ADD COLUMN x BIGINT NOT NULL DEFAULT 0 REFERENCES y":    false,
		"ALTER TABLE players ADD CONSTRAINT x CHECK (score > 0)":                     false,
		"ALTER TABLE players ALTER COLUMN score TYPE TEXT":                           false,
		"ALTER TABLE players ALTER COLUMN score SET NOT NULL":                        false,
		"ALTER TABLE players RENAME COLUMN score TO points":                          false,
		"ALTER TABLE players RENAME TO people":                                       false,
		"ALTER TABLE players DROP COLUMN score":                                      false,
		"DROP TABLE players":                                                         false,
		"DROP INDEX players_device":                                                  false,
		"CREATE UNIQUE INDEX players_x ON players (game, nickname)":                  false,
		"CREATE TRIGGER x BEFORE INSERT ON players EXECUTE FUNCTION f()":             false,
		"UPDATE players SET score = 0":                                               false,
		table + "DELETE FROM players":                                                false,
		"CREATE TABLE a (id BIGINT); CREATE OR REPLACE VIEW players AS SELECT 1":     false,
		"CREATE TABLE a (player TEXT NOT NULL REFERENCES players (id))":              false,
		"/* */ DROP TABLE players":                                                   false,
		"ALTER TABLE players ADD COLUMN x BIGINT, DROP COLUMN score":                 false,
		"-- ADD COLUMN\nALTER TABLE players ADD COLUMN x TEXT NOT NULL -- DEFAULT 0": false,
	} {
		if faults := migrationFaults(300, text); isAllowed != (len(faults) == 0) {
			t.Errorf("%q: %q", text, faults)
		}
	}
}

var (
	sqlComment   = regexp.MustCompile(`--[^\n]*`)
	contractLine = regexp.MustCompile(`^-- contract: unused since (\d+)\n`)
	createTable  = regexp.MustCompile(`^CREATE TABLE (\w+) \(`)
	createIndex  = regexp.MustCompile(`^CREATE (UNIQUE )?INDEX \w+ ON (\w+) \(`)
	addColumn    = regexp.MustCompile(`^ALTER TABLE \w+ ADD COLUMN \w+ (?:BIGINT|TEXT|BYTEA|BOOLEAN|DOUBLE PRECISION)( NOT NULL)?( DEFAULT (?:-?\d+|'[^']*'|TRUE|FALSE))?$`)
	drop         = regexp.MustCompile(`^(DROP TABLE \w+|DROP INDEX \w+|ALTER TABLE \w+ DROP COLUMN \w+)$`)
)

// migrationFaults returns the statements of a migration with which programs of the release before
// cannot work.
func migrationFaults(version int64, text string) (faults []string) {
	isContract := false
	if m := contractLine.FindStringSubmatch(text); m != nil {
		unusedSince, err := strconv.ParseInt(m[1], 10, 64)
		isContract = err == nil && releaseOf(unusedSince) < releaseOf(version)
	}
	var created []string
	for statement := range strings.SplitSeq(sqlComment.ReplaceAllString(text, ""), ";") {
		statement = strings.Join(strings.Fields(statement), " ")
		m := createTable.FindStringSubmatch(statement)
		if m != nil && !strings.Contains(statement, "REFERENCES") { // a foreign key may refuse a deletion
			created = append(created, m[1])
			continue
		}
		index, column := createIndex.FindStringSubmatch(statement), addColumn.FindStringSubmatch(statement)
		switch {
		case statement == "", isContract && drop.MatchString(statement):
		case index != nil && (index[1] == "" || slices.Contains(created, index[2])):
		case column != nil && (column[1] == "" || column[2] != ""):
		default:
			faults = append(faults, fmt.Sprintf("a program of the release before may not work after %q", statement))
		}
	}
	return faults
}
