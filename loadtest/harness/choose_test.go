package harness_test

import (
	"slices"
	"strings"
	"testing"

	"laststand/loadtest/harness"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []string{"a, slow", "a, fast", "b"}
	same := func(s string) string { return s }
	for wanted, want := range map[string][]string{"": all, "b": {"b"}, "b;a, slow": {"a, slow", "b"}} {
		if got, err := harness.Choose(all, same, wanted, ";"); err != nil || !slices.Equal(got, want) {
			t.Errorf("Choose(%q) = %q, %v, want %q", wanted, got, err, want)
		}
	}
	if got, err := harness.Choose(all, same, "b;c", ";"); err == nil || !strings.Contains(err.Error(), `"c"`) || !strings.Contains(err.Error(), "a, fast") {
		t.Errorf("Choose of an unknown one = %q, %v, want an error that names it and what there is", got, err)
	}
}
