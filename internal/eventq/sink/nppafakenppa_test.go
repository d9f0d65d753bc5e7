package sink

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// The paths of the interface.
const (
	ProductionPath = "/behavior/collection/loginout"
	TestPath       = "/test/collection/loginout" // followed by a test code
)

// maxBody is far above the size of 128 items.
const maxBody = 1 << 20

// fakeOptions are the options of a fake.
type fakeOptions struct {
	AppID    string
	BizIDs   []string       // the accepted games
	Keys     []string       // all valid keys, as text
	TestCode string         // the current test case; "": none
	Allow    []netip.Prefix // addresses that may call; none: all
	// PerSecond bounds the requests of a game in any second. A game that exceeds it is shut
	// out for a minute. 0 means no limit. The real interface permits 10.
	PerSecond int
	ListAll   bool             // list every item after a partial failure, not only the failed ones
	Now       func() time.Time // none: time.Now
}

// fakeReport is a request with at least one accepted item.
type fakeReport struct {
	BizID string       `json:"bizId"`
	At    int64        `json:"timestamps"` // epoch ms
	Items []fakeRecord `json:"collections"`
}

// fakeNPPA is an http.Handler that simulates the interface that collects behaviours. It
// follows the specification 1.8 of February 2021 and the description of its test system: the
// same paths, the same checks in the same order, and the same codes. It is written from these
// documents alone, so that it can show whether the sink follows them. It does not check
// identities. It is safe for concurrent use.
type fakeNPPA struct {
	options fakeOptions

	mu           sync.Mutex // guards everything below
	keys         []string
	gates        map[string]*rateGate // by biz id
	reports      []fakeReport
	answerCounts map[int]int
}

// New makes a fake.
func newFake(o fakeOptions) *fakeNPPA {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &fakeNPPA{options: o, keys: o.Keys, gates: make(map[string]*rateGate), answerCounts: make(map[int]int)}
}

// SetKeys replaces the valid keys.
func (f *fakeNPPA) SetKeys(keys ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = keys
}

// TakeReports returns the reports since the last call.
func (f *fakeNPPA) TakeReports() []fakeReport {
	f.mu.Lock()
	defer f.mu.Unlock()
	accepted := f.reports
	f.reports = nil
	return accepted
}

// AnswerCounts returns how often the fake answered with each code.
func (f *fakeNPPA) AnswerCounts() map[int]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.answerCounts)
}

// result is the result of one item in an answer.
type result struct {
	No      int    `json:"no"`
	Code    int    `json:"errcode"`
	Message string `json:"errmsg"`
}

// ServeHTTP checks a request.
func (f *fakeNPPA) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		f.writeAnswer(w, sysParamCheck, nil)
		return
	}
	code, results := f.checkRequest(r, body)
	f.writeAnswer(w, code, results)
}

// writeAnswer writes an answer as in the examples of the specification, where data is an object
// or "".
func (f *fakeNPPA) writeAnswer(w http.ResponseWriter, code int, results []result) {
	f.mu.Lock()
	f.answerCounts[code]++
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	var data any = ""
	if len(results) > 0 {
		data = map[string]any{"results": results}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"errcode": code, "errmsg": fakeText(code), "data": data})
}

// storeAccepted stores the items of a call that have no fault.
func (f *fakeNPPA) storeAccepted(c checkedRequest, items []fakeRecord, results []result) {
	report := fakeReport{BizID: c.bizID, At: c.sentAtMS}
	for i, item := range items {
		if results[i].Code == codeOK {
			report.Items = append(report.Items, item)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(report.Items) > 0 {
		f.reports = append(f.reports, report)
	}
}

// fakeText returns the text of a code. The specification has one for each, for people only.
func fakeText(code int) string { return fmt.Sprintf("errcode %d", code) }
