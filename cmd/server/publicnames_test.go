package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

// contractMetrics are named by the wire contract, section 5.
var contractMetrics = []string{
	"laststand_behaviours_offered_total", "laststand_behaviours_sent_total", "laststand_behaviours_dropped_total",
	"laststand_behaviours_queued", "laststand_behaviours_in_flight",
}

// retiredWords are the refused and pending words of internal/testdata/retired_words.txt, and
// words that only public names had. No public name has one of them.
func retiredWords(t *testing.T) []string {
	t.Helper()
	words := []string{"alone", "boards", "held", "lines", "missed", "own", "pressure", "room", "sleeping", "swept", "visits"}
	text := testenv.Need(os.ReadFile("../../internal/testdata/retired_words.txt"))(t)
	lines := retiredLine.FindAllStringSubmatch(string(text), -1)
	if len(lines) < 50 {
		t.Fatalf("only %d lines name retired words", len(lines))
	}
	for _, line := range lines {
		words = append(words, strings.Fields(line[1])...)
	}
	return words
}

var retiredLine = regexp.MustCompile(`(?m)^(?:refused|pending): (.*) = `)

func TestMetricsFollowTheConventions(t *testing.T) {
	t.Parallel()
	metrics := registeredMetrics(t)
	if len(metrics) < 100 {
		t.Fatalf("only %d metrics are registered", len(metrics))
	}
	retired := retiredWords(t)
	for _, m := range metrics {
		for _, fault := range metricFaults(m, retired) {
			t.Errorf("%s (%s) %q: %s", m.name, m.kind, m.help, fault)
		}
	}
}

func TestMetricCheckFindsViolations(t *testing.T) {
	t.Parallel()
	const help = "Things that this node did."
	retired := retiredWords(t)
	for _, bad := range []metricInfo{
		{name: "laststand_things", kind: "counter", help: help},
		{name: "laststand_things_total", kind: "gauge", help: help},
		{name: "laststand_wait_ms", kind: "gauge", help: help},
		{name: "laststand_seconds_waited", kind: "gauge", help: help},
		{name: "laststand_wait", kind: "histogram", help: help},
		{name: "laststand_ws_closed_total", kind: "counter", help: help},
		{name: "laststand_tasks_untold_total", kind: "counter", help: help},
		{name: "laststand_things", kind: "gauge", help: "What it did."},
		{name: "laststand_things", kind: "gauge", help: "things"},
		{name: "laststand_things", kind: "gauge", help: help, labels: []string{"Why"}},
	} {
		if len(metricFaults(bad, retired)) == 0 {
			t.Errorf("%+v has no fault", bad)
		}
	}
}

var (
	metricName = regexp.MustCompile(`^laststand(_[a-z]+)+$`)
	labelName  = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	participle = regexp.MustCompile(`^([a-z]+ed|sent|lost|taken|shown|known|begun|won)$`)
	otherUnit  = regexp.MustCompile(`_(ms|milliseconds|micros|minutes|hours|kib|mib|kb|mb|percent)(_|$)|_rate$`)
	unitWithin = regexp.MustCompile(`_(seconds|bytes|ratio)_`)
	helpText   = regexp.MustCompile(`^[A-Z0-9].*\.$`)
	vagueStart = regexp.MustCompile(`^(What|Who|How|Whoever|Since|Until|From|By) `)
)

// metricFaults lists violations of the naming rules of Prometheus and of this project.
func metricFaults(m metricInfo, retired []string) (faults []string) {
	add := func(isFault bool, fault string) {
		if isFault {
			faults = append(faults, fault)
		}
	}
	base, endsInTotal := strings.CutSuffix(m.name, "_total")
	words := strings.Split(base, "_")
	add(!metricName.MatchString(m.name), "the name has characters that it must not have")
	add(endsInTotal != (m.kind == "counter"), "a counter, and nothing else, ends in _total")
	add(otherUnit.MatchString(m.name) || unitWithin.MatchString(base), "a name ends in its base unit: seconds, bytes or ratio")
	add(m.kind == "histogram" && !slices.Contains([]string{"seconds", "bytes", "size"}, words[len(words)-1]), "a histogram ends in what it measures")
	add(len(words) == 3 && participle.MatchString(words[2]) && !slices.Contains(contractMetrics, m.name), "a participle is no name: say what is counted")
	for _, word := range retired {
		add(strings.Contains("_"+base+"_", "_"+word+"_"), "the word "+word+" is retired")
	}
	for _, label := range m.labels {
		add(!labelName.MatchString(label), "the label "+label+" is not in small letters")
	}
	add(!helpText.MatchString(m.help) || vagueStart.MatchString(m.help), "the help is not a plain sentence")
	add(len(strings.Fields(m.help)) > 30, "the help has over 30 words")
	return faults
}

// contractKeys are numbers that the wire contract, section 6, names.
var contractKeys = []string{"connections", "questions", "score", "accuracy", "speed", "matches", "per_second", "burst"}

func TestConfigurationKeysSayWhatTheyLimit(t *testing.T) {
	t.Parallel()
	keys := configKeys(t)
	if len(keys) < 80 {
		t.Fatalf("only %d keys", len(keys))
	}
	retired := retiredWords(t)
	for _, k := range keys {
		for _, fault := range keyFaults(k, retired) {
			t.Errorf("%s: %s", k.path, fault)
		}
	}
}

func TestConfigurationKeyCheckFindsViolations(t *testing.T) {
	t.Parallel()
	retired := retiredWords(t)
	for _, bad := range []configKey{
		{path: "limits.lag", kind: "whole number", values: "0 to 5", meaning: "Longest lag."},
		{path: "limits.lag_ms", kind: "whole number", meaning: "Longest lag."},
		{path: "limits.lag_ms", kind: "whole number", values: "0 to 5"},
		{path: "limits.vain_ms", kind: "whole number", values: "0 to 5", meaning: "Longest lag."},
	} {
		if len(keyFaults(bad, retired)) == 0 {
			t.Errorf("%+v has no fault", bad)
		}
	}
}

var unitOfKey = regexp.MustCompile(`^(max|min)_|_(ms|mib|bytes|days|percent)$|_per_(second|minute|hour|day|address)(_per_[a-z]+)?$`)

func keyFaults(k configKey, retired []string) (faults []string) {
	name := k.path[strings.LastIndexAny(k.path, ".")+1:]
	number := strings.HasSuffix(k.kind, "number")
	if number && !unitOfKey.MatchString(name) && !slices.Contains(contractKeys, name) {
		faults = append(faults, "a number ends in its unit, or begins with max_ or min_")
	}
	if !strings.Contains(k.kind, "section") && k.values == "" {
		faults = append(faults, "its field says neither `range` nor `allowed`")
	}
	if !helpText.MatchString(k.meaning) || vagueStart.MatchString(k.meaning) {
		faults = append(faults, "the comment of its field is no plain sentence")
	}
	for _, word := range retired {
		if strings.Contains("_"+name+"_", "_"+word+"_") {
			faults = append(faults, "the word "+word+" is retired")
		}
	}
	return faults
}
