package limit

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A cap counts what is refused, or would be; none counts nothing and refuses.
func TestCap(t *testing.T) {
	t.Parallel()
	l := New(Config{Trial: func(rule string) bool { return rule == "tried" }})
	strict, tried := l.Cap("strict"), l.Cap("tried")
	if !strict.Stands() || tried.Stands() || tried.Stands() || !(*Cap)(nil).Stands() {
		t.Error("refused otherwise")
	}
	if refused, would := testutil.ToFloat64(strict.told.refused), testutil.ToFloat64(tried.told.wouldRefuse); refused != 1 || would != 2 {
		t.Errorf("%v refused, %v would have been", refused, would)
	}
}
