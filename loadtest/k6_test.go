package main

import (
	"reflect"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBrokenRulesAreFoundOrMissed(t *testing.T) {
	t.Parallel()
	ruleCounts := readRules([]byte(`{"metrics":{"checks":{"passes":3,"fails":2},` +
		`"checks{rule:seq}":{"passes":3,"fails":0,"thresholds":{"rate==1":false},"value":1},"checks{rule:page}":{"passes":1,"fails":2}}}`))
	if want := map[string]checkCount{"seq": {3, 0}, "page": {1, 2}}; !reflect.DeepEqual(ruleCounts, want) {
		t.Fatalf("%v, want %v", ruleCounts, want)
	}
	found, missed := brokenRules(ruleCounts)
	if !reflect.DeepEqual(found, []string{"page"}) || !reflect.DeepEqual(missed, []string{"seq"}) {
		t.Errorf("found %v, missed %v", found, missed)
	}
	if _, missed := brokenRules(nil); len(missed) == 0 {
		t.Error("no rule was checked, and no rule is missed")
	}
}
