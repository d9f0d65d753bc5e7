// Package nppa is a fake of the interface through which China's anti-addiction system
// collects logins and logouts of players. It follows the specification 1.8 of February
// 2021 and the description of its test system: the same paths, the same checks in the
// same order, and the same codes. It is written from these documents alone, so that it
// can show whether a reporter follows them. It does not check or query identities.
package nppa

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// The paths of the interface.
const (
	ProductionPath = "/behavior/collection/loginout"
	TestPath       = "/test/collection/loginout" // and a test code
)

// maxBody is far over what 128 items take.
const maxBody = 1 << 20

// Options of a fake.
type Options struct {
	AppID    string
	BizIDs   []string       // the games
	Keys     []string       // all that are valid, as text
	TestCode string         // the test case under way; "": none
	Allow    []netip.Prefix // who may call; none: everybody
	// PerSecond is how many requests a game has in any second; one more, and it is
	// shut out for a minute. 0: as many as it likes. The real interface gives 10.
	PerSecond int
	ListAll   bool             // a partial failure names every item, not only those that failed
	Now       func() time.Time // none: time.Now
}

// Report is a request of which something was accepted.
type Report struct {
	BizID string   `json:"bizId"`
	At    int64    `json:"timestamps"` // epoch ms
	Items []Record `json:"collections"`
}

// Fake is an http.Handler. Safe for concurrent use.
type Fake struct {
	o Options

	mu       sync.Mutex // over all below
	keys     []string
	faults   []Fault
	gates    map[string]*gate // by biz id
	accepted []Report
	answers  map[int]int
}

// New gives a fake.
func New(o Options) *Fake {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Fake{o: o, keys: o.Keys, gates: make(map[string]*gate), answers: make(map[int]int)}
}

// SetKeys changes which keys are valid.
func (f *Fake) SetKeys(keys ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = keys
}

// Collect gives what was accepted since it was called last.
func (f *Fake) Collect() []Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	accepted := f.accepted
	f.accepted = nil
	return accepted
}

// Answers gives how often each code was the answer.
func (f *Fake) Answers() map[int]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.answers)
}

// result is of an item, in an answer.
type result struct {
	No      int    `json:"no"`
	Code    int    `json:"errcode"`
	Message string `json:"errmsg"`
}

// ServeHTTP goes by the next fault, if one is planned, else by the request.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		f.answer(w, sysParamCheck, nil)
		return
	}
	if fault, planned := f.nextFault(); planned && f.meet(fault, w, r) {
		return
	}
	code, results := f.judge(r, body)
	f.answer(w, code, results)
}

// answer is worded as in the document's examples, where data is an object or "".
func (f *Fake) answer(w http.ResponseWriter, code int, results []result) {
	f.mu.Lock()
	f.answers[code]++
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	var data any = ""
	if len(results) > 0 {
		data = map[string]any{"results": results}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"errcode": code, "errmsg": messages[code], "data": data})
}

// accept keeps the items of a call that have no fault.
func (f *Fake) accept(c call, items []Record, results []result) {
	report := Report{BizID: c.biz, At: c.at}
	for i, item := range items {
		if results[i].Code == ok {
			report.Items = append(report.Items, item)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(report.Items) > 0 {
		f.accepted = append(f.accepted, report)
	}
}

func (f *Fake) validKeys() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.keys)
}
