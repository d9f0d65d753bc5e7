package httpapi

import (
	"net/http"
	"testing"
)

func TestLeaderboardsAreRevalidated(t *testing.T) {
	t.Parallel()
	handler := New(newTestConfig(&fakeBackend{}))
	for target, cacheControl := range map[string]string{
		"/leaderboards":                     "public, max-age=1",
		"/leaderboards/all":                 "public, max-age=1",
		"/leaderboards/all/p_1":             "public, max-age=1",
		"/leaderboards/all?around=p_1":      "public, max-age=1",
		"/leaderboards/day?date=2026-11-20": "public, max-age=1",
		"/leaderboards/day?date=2026-11-19": "public, max-age=60",
		"/matches/m_1":                      "public, max-age=60",
		"/matches/m_teams?limit=2":          "public, max-age=60",
	} {
		full := serve(t, handler, getCall(demoPath+target))
		tag := full.Header().Get("ETag")
		if len(tag) != 18 || full.Header().Get("Cache-Control") != cacheControl || full.Header().Get("Vary") != "Origin" {
			t.Errorf("%s: ETag %s, Cache-Control %q", target, tag, full.Header().Get("Cache-Control"))
		}
		for value, status := range map[string]int{
			tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, tag[:17]: 200, "": 200,
		} {
			c := getCall(demoPath + target)
			c.headers = []string{"If-None-Match: " + value}
			rec := serve(t, handler, c)
			if rec.Code != status || (rec.Body.Len() == 0) != (status == http.StatusNotModified) || rec.Header().Get("ETag") != tag {
				t.Errorf("%s with If-None-Match %s: %d %s, want %d", target, value, rec.Code, rec.Body, status)
			}
		}
	}
}

func TestErrorsAreNotCached(t *testing.T) {
	t.Parallel()
	rec := serve(t, New(newTestConfig(&fakeBackend{fail: errStore})), getCall(demoPath+"/leaderboards/all"))
	if rec.Header().Get("Cache-Control") != "no-store" || rec.Header().Get("ETag") != "" {
		t.Errorf("%v", rec.Header())
	}
}

// A settled match has another tag once the nickname of one of its players has
// changed, and nothing else.
func TestANewNicknameChangesTheTagOfAMatch(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	h := New(newTestConfig(backend))
	before, unchanged := serve(t, h, getCall(demoPath+"/matches/m_1")), serve(t, h, getCall(demoPath+"/matches/m_1"))
	backend.erased = map[string]bool{"p_1": true}
	after := serve(t, h, getCall(demoPath+"/matches/m_1")).Header().Get("ETag")
	if tag := before.Header().Get("ETag"); tag == "" || unchanged.Header().Get("ETag") != tag || after == tag {
		t.Errorf("tags %q, %q, and %q after the erasure", tag, unchanged.Header().Get("ETag"), after)
	}
}

// A changed nickname appears on the leaderboards immediately.
func TestANewNicknameIsOnTheLeaderboardsImmediately(t *testing.T) {
	t.Parallel()
	w := &renamingBackend{fakeBackend: &fakeBackend{}, name: "Ada"}
	c := newTestConfig(w.fakeBackend)
	c.Guests, c.Boards = w, newDisplay(w)
	h := New(c)
	board := getCall(demoPath + "/leaderboards/all")
	before := serve(t, h, board)
	serve(t, h, jsonCall("PUT", demoPath+"/players/me/nickname", `{"nickname":"Eve"}`, bearerGood))
	if after := serve(t, h, board); after.Header().Get("ETag") == before.Header().Get("ETag") {
		t.Errorf("after the rename: %s", after.Body)
	}
}
