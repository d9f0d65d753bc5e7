package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	metricRow   = regexp.MustCompile("(?m)^\\| `laststand_([a-z0-9_]+)` \\| [a-z]+ \\| (.*?) \\|")
	commandHead = regexp.MustCompile(`(?m)^## server ([a-z -]+)$`)

	metricName  = regexp.MustCompile(`\blaststand_([a-z0-9_]*[a-z0-9](?:\{[^}]*\})?)`)
	inlineCall  = regexp.MustCompile("(?:`|\\./|\\$\\()server ([a-z][a-z-]*)(?: ([a-z-]+))?")
	shellCall   = regexp.MustCompile(`(?m)^server ([a-z][a-z-]*)(?: ([a-z-]+))?`)
	checkTable  = regexp.MustCompile(`(?s)\n\| symptom \| check \| fix \|\n.*?\n\n`)
	checkRow    = regexp.MustCompile(`(?m)^\| (.*?) \| (.*?) \| .* \|$`)
	shortMetric = regexp.MustCompile("`([a-z0-9]+_[a-z0-9_]+(?:\\{[^}]*\\})?)`")
)

// unknownMetrics lists the metrics and labels of a document that the reference does not have.
// The check columns of the runbook name metrics without the prefix laststand_.
func unknownMetrics(text, reference string) (unknown []string) {
	labels := map[string]string{}
	for _, match := range metricRow.FindAllStringSubmatch(reference, -1) {
		labels[match[1]] = match[2]
	}
	mentions := metricName.FindAllStringSubmatch(text, -1)
	for _, table := range checkTable.FindAllString(text+"\n\n", -1) {
		for _, row := range checkRow.FindAllStringSubmatch(table, -1) {
			mentions = append(mentions, shortMetric.FindAllStringSubmatch(row[2], -1)...)
		}
	}
	for _, match := range mentions {
		metric, selector, _ := strings.Cut(strings.TrimSuffix(match[1], "}"), "{")
		known, ok := labels[metric]
		for _, label := range strings.Split(selector, ",") {
			label, _, _ = strings.Cut(label, "=")
			ok = ok && (label == "" || slices.Contains(strings.Split(strings.Trim(known, "`"), ", "), label))
		}
		if !ok {
			unknown = append(unknown, match[1])
		}
	}
	return unknown
}

// unknownCommands lists the commands of a document that the reference does not have.
// A noun without a verb, such as "server tasks", means all its commands.
func unknownCommands(text, reference string) (unknown []string) {
	known := map[string]bool{}
	for _, match := range commandHead.FindAllStringSubmatch(reference, -1) {
		noun, _, _ := strings.Cut(match[1], " ")
		known[match[1]], known[noun+" "] = true, true
	}
	calls := inlineCall.FindAllStringSubmatch(text, -1)
	for _, block := range codeBlock.FindAllString(text, -1) {
		calls = append(calls, shellCall.FindAllStringSubmatch(block, -1)...)
	}
	for _, match := range calls {
		if noun, verb := match[1], match[2]; !known[noun] && !known[noun+" "+verb] {
			unknown = append(unknown, strings.TrimSpace(noun+" "+verb))
		}
	}
	return unknown
}

func TestMetricsAndCommandsInDocumentsExist(t *testing.T) {
	t.Parallel()
	all := documents(t)
	metrics, commands := all["docs/reference/metrics.md"], all["docs/reference/cli.md"]
	for name, text := range all {
		for _, metric := range unknownMetrics(text, metrics) {
			t.Errorf("%s names the metric or label %s, which docs/reference/metrics.md does not have", name, metric)
		}
		for _, command := range unknownCommands(text, commands) {
			t.Errorf("%s names the command server %s, which docs/reference/cli.md does not have", name, command)
		}
	}
}

func TestUnknownMetricsAndCommandsAreFound(t *testing.T) {
	t.Parallel()
	metrics := "| `laststand_match_ends_total` | counter | `game, reason` | Ends. |\n"
	text := "`laststand_match_ends_total{reason=\"x\"}` `laststand_gone_total`\n\n" +
		"| symptom | check | fix |\n| --- | --- | --- |\n| late | `match_ends_total{cause}` | wait |\n| gone | `old_seconds` | `not_a_metric` |\n"
	if got := strings.Join(unknownMetrics(text, metrics), " "); got != "gone_total match_ends_total{cause} old_seconds" {
		t.Errorf("unknown metrics are %q", got)
	}
	commands := "## server tasks list\n\n## server token\n"
	text = "`server tasks` `server tasks list` `server token --role admin` `server tasks lines` the\nserver refuses it.\n" +
		"```sh\nserver acts list\n./server token\n$(server bars\n```\n"
	if got := strings.Join(unknownCommands(text, commands), ", "); got != "tasks lines, bars, acts list" {
		t.Errorf("unknown commands are %q", got)
	}
}

var packageName = regexp.MustCompile("`([a-z0-9]+(?:/[a-z0-9]+)*)`")

// The table of packages in ARCHITECTURE.md must name folders that exist.
func TestArchitectureNamesExistingPackages(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(documents(t)["docs/ARCHITECTURE.md"], "| topic | packages under `internal` |")
	table, _, closed := strings.Cut(table, "\n\n")
	if !found || !closed {
		t.Fatal("ARCHITECTURE.md has no table of packages")
	}
	names := packageName.FindAllStringSubmatch(table, -1)
	if len(names) < 20 {
		t.Errorf("the table names %d packages, want at least 20", len(names))
	}
	for _, match := range names {
		if info, err := os.Stat(filepath.Join("../internal", filepath.FromSlash(match[1]))); err != nil || !info.IsDir() {
			t.Errorf("ARCHITECTURE.md names the package %s, which does not exist", match[1])
		}
	}
}
