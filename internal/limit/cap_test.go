package limit

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A cap counts refusals, in dry run those it would make. A nil cap counts nothing and
// refuses.
func TestCap(t *testing.T) {
	t.Parallel()
	l := New(Config{DryRun: func(rule string) bool { return rule == "dry" }})
	strict, dryRun := l.Cap("strict"), l.Cap("dry")
	if !strict.Refuse() || dryRun.Refuse() || dryRun.Refuse() || !(*Cap)(nil).Refuse() {
		t.Error("refused otherwise")
	}
	if refused, would := testutil.ToFloat64(strict.counters.refused), testutil.ToFloat64(dryRun.counters.wouldRefuse); refused != 1 || would != 2 {
		t.Errorf("%v refused, %v would have been", refused, would)
	}
}
