package bench

import (
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []string{"a, slow", "a, fast", "b"}
	same := func(s string) string { return s }
	for wanted, want := range map[string][]string{"": all, "b": {"b"}, "b;a, slow": {"a, slow", "b"}} {
		if got, err := choose(all, same, wanted, ";"); err != nil || !slices.Equal(got, want) {
			t.Errorf("choose(%q) = %q, %v, want %q", wanted, got, err, want)
		}
	}
	if got, err := choose(all, same, "b;c", ";"); err == nil || !strings.Contains(err.Error(), `"c"`) || !strings.Contains(err.Error(), "a, fast") {
		t.Errorf("Choose of an unknown one = %q, %v, want an error that names it and what there is", got, err)
	}
}
