package httpapi

import (
	"errors"
	"net/url"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// The pages of a list contain each of its elements once, in order.
func TestPagesCoverAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(0, 500).Draw(t, "n")
		p := paging{limit: rapid.IntRange(1, 200).Draw(t, "limit")}
		for offset := 0; ; {
			from, to, next, err := p.indexRange(length)
			if err != nil || from != offset || to < from || to-from > p.limit {
				t.Fatalf("at %d of %d: %d to %d, %v", offset, length, from, to, err)
			}
			offset = to
			if next == "" {
				if offset != length {
					t.Fatalf("the pages end at %d of %d", offset, length)
				}
				return
			}
			p.cursor = next
		}
	})
}

// FuzzQuery checks that each query is refused, or read with a limit that is allowed.
func FuzzQuery(f *testing.F) {
	for _, raw := range []string{
		"", "limit=1&cursor=" + offsetCursor(1), "limit=0", "limit=+1", "limit=1e1", "cursor=" + offsetCursor(-1),
		"limit=1&limit=2", "a;b", "%", "cursor=bzAx", "kind=team", "order=value&players=a,b,,c", "date=2026-02-30", "explain=1", "cursor=%00", "limit=%ff",
	} {
		f.Add(raw)
	}
	h := New(newTestConfig(&fakeBackend{}))
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := protocol.ReadQuery(&url.URL{RawQuery: raw}, []string{"limit", "cursor"})
		if err == nil {
			checkPaging(t, query)
		} else if _, isProtocolError := errors.AsType[*protocol.Error](err); !isProtocolError {
			t.Fatalf("%q: %v", raw, err)
		}
		for _, path := range []string{"/leaderboards/all", "/leaderboards/all/p_1", "/matches/m_1"} {
			r := getCall(demoPath + path).request(t)
			r.URL.RawQuery = raw
			rec := newRecorder()
			h.ServeHTTP(rec, r)
			if rec.Code != 200 && rec.Code != 400 {
				t.Fatalf("%s?%s: %d %s", path, raw, rec.Code, rec.Body)
			}
			if err := contractError(r, rec); err != nil {
				t.Fatalf("%s?%s: %v", path, raw, err)
			}
		}
	})
}

func checkPaging(t *testing.T, query url.Values) {
	t.Helper()
	p, err := readPaging(query, leaderboard.MaxLimit)
	if err != nil {
		if _, isClientError := errors.AsType[*protocol.Error](err); !isClientError {
			t.Fatalf("%v: %v", query, err)
		}
		return
	}
	from, to, _, err := p.indexRange(100)
	if err != nil && !errors.Is(err, match.ErrBadCursor) || p.limit < 1 || p.limit > 200 || from < 0 || to > 100 || from > to {
		t.Fatalf("%v: %d to %d of %d, %v", query, from, to, p.limit, err)
	}
}
