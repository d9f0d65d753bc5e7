package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"laststand/internal/answers"
)

// The host can make a question void for an hour, and a service at any time, in its name.
func TestHostsAndServicesMakeQuestionsVoid(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]answers.Void{
		"good":    {Game: "demo", Match: "m_1", Question: 3, Reason: "two right answers", MaxAge: time.Hour},
		"service": {Game: "demo", Match: "m_1", Question: 3, Reason: "two right answers", By: "p_1"},
	} {
		backend := &fakeBackend{}
		handler := New(newTestConfig(backend))
		for _, body := range []string{`{"match":"m_1","question":3,"new":true}`, `{"match":"m_1","question":3,"new":false}`} {
			rec := serve(t, handler, jsonCall("POST", demoPath+"/arenas/a_1/voids", `{"question":3,"reason":"two right answers"}`, "Authorization: Bearer "+token))
			if rec.Code != http.StatusOK || strings.TrimSpace(rec.Body.String()) != body {
				t.Errorf("%s: %d %s, want %s", token, rec.Code, rec.Body, body)
			}
		}
		if backend.void != want {
			t.Errorf("%s: the ledger was asked for %+v, want %+v", token, backend.void, want)
		}
	}
}
