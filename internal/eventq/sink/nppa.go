package sink

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync/atomic"

	"laststand/internal/eventq"
)

// These are the addresses of the interface.
const (
	Production = "http://api2.wlc.nppa.gov.cn/behavior/collection/loginout" // plain, officially
	TestSystem = "https://wlc.nppa.gov.cn/test/collection/loginout"         // and the code of a test case
)

// NPPAOptions are the options of a sink for one game. All are required except URL and
// TestCode.
type NPPAOptions struct {
	HTTP  *http.Client // must follow no redirects, and close idle connections before 120 s, when the far side does
	URL   string       // of the interface; "": Production, or TestSystem with a TestCode
	AppID string       // of the company
	BizID string       // of the game
	// Keys returns the company's keys as they were issued, 32 hexadecimal digits
	// each: the current key, then its successor. The sink calls it before every
	// attempt, so the keys may change at any time.
	Keys func() ([]string, error)
	// TestCode is the code of a test case. If it is set, the sink reports to the
	// test system and appends the code to the URL.
	TestCode string
}

// NPPA implements eventq.Sink for the anti-addiction system.
type NPPA struct {
	NPPAOptions
	endpoint     string
	rejectedKeys atomic.Uint32 // so many times the next key was tried; it also chooses the first to try
}

var _ eventq.Sink = (*NPPA)(nil)

// NewNPPA returns a sink. It does not connect.
func NewNPPA(o NPPAOptions) (*NPPA, error) {
	endpoint := cmp.Or(o.URL, Production)
	if o.TestCode != "" {
		endpoint = cmp.Or(o.URL, TestSystem) + "/" + url.PathEscape(o.TestCode)
	}
	return &NPPA{NPPAOptions: o, endpoint: endpoint}, checkURL(endpoint)
}

// Check returns why a behaviour can never be reported, or nil.
func (*NPPA) Check(b eventq.Behaviour) error { return check(b) }

// Send makes one attempt. If the far side does not know a key, Send tries the next
// key at once. That is one request more than the rate limit counts, and happens
// only when keys change.
func (s *NPPA) Send(ctx context.Context, b eventq.Batch) eventq.Outcome {
	report := newReport(b)
	if len(report.Records) == 0 {
		return report.outcome(answer{Outcome: eventq.Outcome{Code: "unsent", Delivery: eventq.Refused}})
	}
	plain, _ := json.Marshal(report) // plain texts always encode
	return report.outcome(s.sendWithKeys(ctx, plain, b.Now))
}

// Close does nothing: the client belongs to the caller.
func (*NPPA) Close() error { return nil }
