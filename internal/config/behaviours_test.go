package config

import (
	"reflect"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

// readTestConfig reads a configuration that must be valid.
func readTestConfig(t *testing.T, text string) *Config {
	t.Helper()
	c := testenv.Need(Read(configFile(t, text)))(t)
	return &c
}

func TestQueuePolicyHasDefaultsAndSettings(t *testing.T) {
	t.Parallel()
	allKinds := []string{eventq.Online, eventq.Offline, eventq.MatchStart, eventq.MatchEnd}
	defaultPolicy := eventq.Policy{MaxLen: 10_000, Overflow: eventq.DropOldest, BatchSize: 128, FlushMS: 1000, MaxAgeMS: 170_000, PerSecond: 8, Burst: 8}
	c := readTestConfig(t, `games:
  silent:
  empty: {behaviours: {}}
  blank: {behaviours: }
  none: {behaviours: {report: []}}
  nppa: {behaviours: {sink: {type: nppa}}}
  zeros: {behaviours: {max_len: 0, batch: {max_size: 0}, max_age: "", rate: {burst: 0}, report: [match_end]}}
  all: {behaviours: {max_len: 5, overflow: reject, batch: {max_size: 2, flush_interval: 1500ms}, max_age: 175s, rate: {per_second: 0.5, burst: 3}, hot: true}}
`)
	for name, change := range map[string]func(*eventq.Policy){
		"silent": func(*eventq.Policy) {},
		"empty":  func(policy *eventq.Policy) { policy.Report = allKinds },
		"blank":  func(policy *eventq.Policy) { policy.Report = allKinds },
		"none":   func(policy *eventq.Policy) { policy.Report = []string{} },
		"nppa":   func(policy *eventq.Policy) { policy.Report, policy.Burst = allKinds[:2], 1 },
		"zeros":  func(policy *eventq.Policy) { policy.Report = []string{eventq.MatchEnd} },
		"all": func(policy *eventq.Policy) {
			*policy = eventq.Policy{
				MaxLen: 5, Overflow: eventq.Reject, BatchSize: 2, FlushMS: 1500, MaxAgeMS: eventq.MaxAgeMS,
				PerSecond: 0.5, Burst: 3, Hot: true, Report: allKinds,
			}
		},
	} {
		want := defaultPolicy
		change(&want)
		want.Game = name
		if got := c.QueuePolicy(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, want)
		}
	}
}

// Each game that refers to a shared section gets the settings of that section.
func TestGamesCanShareBehavioursByAYAMLAlias(t *testing.T) {
	t.Parallel()
	c := readTestConfig(t, "games:\n  a: {behaviours: &b {max_len: 7}}\n  b: {behaviours: *b}\n  c: {behaviours: {<<: *b, hot: true}}\n")
	for _, name := range c.GameNames() {
		if got := c.QueuePolicy(name); got.MaxLen != 7 || len(got.Report) != 4 || got.Hot != (name == "c") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A merged section sets whole keys: a section that a game has itself inherits nothing from it.
func TestAMergedSectionDoesNotReachIntoTheSectionsOfAGame(t *testing.T) {
	t.Parallel()
	c := readTestConfig(t, "games:\n  a: &a {banks: [x], duel: {time_limit_ms: 5000}, behaviours: {max_len: 7}}\n"+
		"  b: {<<: *a, duel: {questions: 5}, behaviours: {hot: true}}\n  c: {<<: *a}\n")
	if b := c.Games["b"]; b.Duel.TimeLimitMS != 15_000 || b.Duel.Questions != 5 || len(b.Banks) != 1 || c.QueuePolicy("b").MaxLen == 7 {
		t.Errorf("%+v", b)
	}
	if c.Games["c"].Duel.TimeLimitMS != 5000 || c.QueuePolicy("c").MaxLen != 7 {
		t.Errorf("%+v", c.Games["c"])
	}
}

func TestSinkOptionsHaveDefaultsAndSettings(t *testing.T) {
	t.Parallel()
	c := readTestConfig(t, `data: here
games:
  plain:
  file: {behaviours: {sink: {path: /var/log/x.ndjson, max_file_mib: 3, max_files: 2}}}
  hook: {behaviours: {sink: {type: webhook, url: "https://x/y", format: cloudevents-batch, allow_private: true}}}
  nppa: {behaviours: {sink: {type: nppa, app_id: A, biz_id: B, test_code: C, secret_file: n.key}}}
`)
	for name, want := range map[string]Sink{
		"plain": {Type: "file", Path: "here/behaviours/plain.ndjson", MaxFileMiB: 64, MaxFiles: 8},
		"file":  {Type: "file", Path: "/var/log/x.ndjson", MaxFileMiB: 3, MaxFiles: 2},
		"hook":  {Type: "webhook", URL: "https://x/y", Format: "cloudevents-batch", AllowPrivate: true},
		"nppa":  {Type: "nppa", AppID: "A", BizID: "B", TestCode: "C", SecretFile: "n.key"},
	} {
		want.isConfigured = name != "plain"
		if got := c.Sink(name); got != want {
			t.Errorf("%s: %+v\nwant %+v", name, got, want)
		}
	}
}

func TestTheRangeOfMaxAgeIsThatOfTheQueue(t *testing.T) {
	t.Parallel()
	c := Default()
	game := c.Games["demo"]
	for age, isValid := range map[time.Duration]bool{eventq.MaxAgeMS * time.Millisecond: true, (eventq.MaxAgeMS + 1) * time.Millisecond: false} {
		game.Behaviours.MaxAge = age.String()
		c.Games["demo"] = game
		if err := c.ValidateWithoutKeys(); (err == nil) != isValid {
			t.Errorf("max_age %v: %v", age, err)
		}
	}
}
