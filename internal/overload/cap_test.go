package overload

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A cap counts refusals, in dry run those it would make. A nil cap counts nothing and
// refuses.
func TestCapCountsRefusals(t *testing.T) {
	t.Parallel()
	limiter := NewLimiter(LimiterConfig{IsDryRun: func(rule string) bool { return rule == "dry" }})
	strict, dryRun := limiter.NewCap("strict"), limiter.NewCap("dry")
	if !strict.Refuse() || dryRun.Refuse() || dryRun.Refuse() || !(*Cap)(nil).Refuse() {
		t.Error("the caps refused the wrong calls")
	}
	if refused, wouldRefuse := testutil.ToFloat64(strict.refused), testutil.ToFloat64(dryRun.wouldRefuse); refused != 1 || wouldRefuse != 2 {
		t.Errorf("%v refused, %v would have been", refused, wouldRefuse)
	}
}
