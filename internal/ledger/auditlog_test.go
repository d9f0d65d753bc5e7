package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

func TestAuditEntriesAreListedFilteredAndDeleted(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		begin := func(at int64, id, by, game string) {
			t.Helper()
			l.setClock(t, at)
			testenv.NoError(t, l.Audit.BeginAudit(t.Context(), identity.AuditEntry{ID: id, Actor: by, Action: "POST /x", Game: game, Target: "task=t1"}))
		}
		begin(1000, "a1", "ops", "g")
		begin(1000, "a2", "eve", "")
		begin(2000, "a3", "ops", "h")
		l.setClock(t, 2500)
		testenv.NoError(t, l.Audit.EndAudit(t.Context(), "a2", 503))
		if err := l.Audit.BeginAudit(t.Context(), identity.AuditEntry{ID: "a3"}); err == nil {
			t.Error("an entry with a known id is accepted")
		}
		for _, tt := range []struct {
			filter identity.AuditFilter
			want   []string
		}{
			{identity.AuditFilter{}, []string{"a3 2000 ops h 0 0", "a2 1000 eve  503 2500", "a1 1000 ops g 0 0"}},
			{identity.AuditFilter{Actor: "ops"}, []string{"a3 2000 ops h 0 0", "a1 1000 ops g 0 0"}},
			{identity.AuditFilter{Game: "g"}, []string{"a1 1000 ops g 0 0"}},
			{identity.AuditFilter{Game: "h", Actor: "eve"}, nil},
		} {
			for limit := 1; limit < 5; limit++ {
				if got := l.auditLines(t, tt.filter, limit); !slices.Equal(got, tt.want) {
					t.Errorf("%+v, %d a page: %q, want %q", tt.filter, limit, got, tt.want)
				}
			}
		}
		if _, _, err := l.Audit.AuditEntries(t.Context(), identity.AuditFilter{}, "x", 1); !errors.Is(err, identity.ErrBadAuditCursor) {
			t.Errorf("a cursor of its own making: %v", err)
		}
		l.setClock(t, 11_500)
		for _, want := range []int64{2, 0} { // a3 is younger than 10 s
			if n := testenv.Need(l.Audit.ForgetAuditEntries(t.Context(), 10*time.Second, 1))(t); n != want {
				t.Errorf("%d entries were deleted, want %d", n, want)
			}
		}
		if got := l.auditLines(t, identity.AuditFilter{}, 9); len(got) != 1 || !strings.HasPrefix(got[0], "a3 ") {
			t.Errorf("left are %q", got)
		}
	})
}

// auditLines returns all entries that a filter selects, read in pages.
func (c clockLedger) auditLines(t *testing.T, f identity.AuditFilter, limit int) (all []string) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := c.Audit.AuditEntries(t.Context(), f, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page {
			if a.Action != "POST /x" || a.Target != "task=t1" {
				t.Errorf("an entry is %+v", a)
			}
			all = append(all, fmt.Sprint(a.ID, " ", a.StartedAt, " ", a.Actor, " ", a.Game, " ", a.Status, " ", a.EndedAt))
		}
		if cursor = next; cursor == "" {
			return all
		}
	}
}
