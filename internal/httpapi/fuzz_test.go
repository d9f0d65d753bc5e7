package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// pathsWithBody lists the paths that accept a body, with the token of the caller.
var pathsWithBody = []struct{ method, path, bearer string }{
	{http.MethodPost, demoPath + "/guests", "good"},
	{http.MethodPut, demoPath + "/players/me/nickname", "good"},
	{http.MethodPost, demoPath + "/arenas", "good"},
	{http.MethodPost, demoPath + "/behaviours", "service"},
	{http.MethodPost, demoPath + "/tasks", "service"},
	{http.MethodPost, demoPath + "/tasks/claim", "service"},
	{http.MethodPost, demoPath + "/tasks/renew", "service"},
	{http.MethodPost, demoPath + "/tasks/complete", "service"},
	{http.MethodPost, demoPath + "/tasks/fail", "service"},
}

// FuzzBody checks that no body, on any path, makes the server fail or send a response that
// the contract does not allow.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `{"device":"` + device + `","nickname":"Ada","arena":"123456"}`, `{"nickname":"\ud800"}`, `{"device":1,"device":2}`,
		`{"mode":"buzzer","name":"x","pace":"auto","questions":{"count":1}}`, `{"behaviours":[{"id":"b_1","type":"online","at":1795212345678,"account":"guest"},3]}`,
		`{"tasks":[{"topic":"mail/eu","key":"k","payload":{"a":1}}]}`, `{"kind":"mail","max":1e9,"lease_ms":-1,"wait_ms":9223372036854775807}`,
		`{"leases":[{"id":"t","fence":1}],"lease_ms":0}`, `{"tasks":[{"id":"t","fence":1,"error":"\u0000","retry_after_ms":-9223372036854775808}]}`, "{\"a\":\xff}",
	} {
		for i := range pathsWithBody {
			f.Add(uint8(i), body, "application/json")
		}
	}
	f.Add(uint8(3), "{}\n{}\n", "application/x-ndjson")
	f.Add(uint8(0), "{}", "text/html; charset=\"")
	h := New(newTestConfig(&fakeBackend{}))
	f.Fuzz(func(t *testing.T, pathNumber uint8, body, kind string) {
		target := pathsWithBody[int(pathNumber)%len(pathsWithBody)]
		r := call{method: target.method, target: target.path, body: body}.request(t)
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Authorization", "Bearer "+target.bearer)
		rec := newRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code >= http.StatusInternalServerError {
			t.Fatalf("%s %s: %d %s", target.method, target.path, rec.Code, rec.Body)
		}
		if err := contractError(r, rec); err != nil {
			t.Fatalf("%s %s: %v", target.method, target.path, err)
		}
	})
}

// FuzzHeaders checks that no value of a header that the server reads causes a status 5xx.
func FuzzHeaders(f *testing.F) {
	for _, seed := range [][3]string{
		{"zh-CN,zh;q=0.9,en;q=0.8", "quiz.example", "Bearer good"}, {"*", "[::1]:80", "bearer  good "}, {"en;q=x", "a\r\nb", "Basic Zm9v"},
		{"x-klingon-" + device, "", "Bearer"}, {"und;q=1.0,,;", "quiz.example:99999", " "}, {"zh-Hant-TW", "q/..", "Bearer a b"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	h := New(newTestConfig(&fakeBackend{}))
	f.Fuzz(func(t *testing.T, accept, host, authorization string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Language", accept)
		if lang := nicknameLanguage(r); lang != "en" && lang != "zh-CN" {
			t.Fatalf("%q: %q", accept, lang)
		}
		r = jsonCall(http.MethodPost, demoPath+"/arenas", `{"mode":"buzzer","name":"x","pace":"auto","questions":{"count":1}}`).request(t)
		r.Host = host
		r.Header.Set("Authorization", authorization)
		rec := newRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code >= http.StatusInternalServerError {
			t.Fatalf("%q %q: %d %s", host, authorization, rec.Code, rec.Body)
		}
	})
}
