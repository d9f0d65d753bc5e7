// Package nppa reports who comes and goes to the anti-addiction system of
// China's National Press and Publication Administration: its interface for
// collecting behaviours, by the specification 1.8 of February 2021.
//
// Every try is numbered, encrypted and signed afresh. The interface does not say
// whether it knows a record that it is sent again; one whose answer was lost is,
// as the specification asks for.
package nppa

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"laststand/internal/eventq"
)

// Addresses of the interface.
const (
	Production = "http://api2.wlc.nppa.gov.cn/behavior/collection/loginout" // plain, officially
	TestSystem = "https://wlc.nppa.gov.cn/test/collection/loginout"         // and the code of a test case
)

// Options of a sink, for one game.
type Options struct {
	HTTP  *http.Client // that follows no redirects, and leaves before 120 s of rest, when the far side does
	URL   string       // of the interface; "": Production, or TestSystem
	AppID string       // of the company
	BizID string       // of the game
	// Keys gives the company's keys as they were issued, 32 hexadecimal digits
	// each: the one in force, then the one to follow. It is asked before every try,
	// so that they can change meanwhile.
	Keys func() ([]string, error)
	// TestCode is of a test case on the test system, which is then reported to; it
	// follows the URL.
	TestCode string
}

// Sink reports the players of one game.
type Sink struct {
	http        *http.Client
	endpoint    string
	app, biz    string
	keys        func() ([]string, error)
	lastGoodKey atomic.Pointer[string] // the key that was not refused last
}

var _ eventq.Sink = (*Sink)(nil)

// New gives a sink, or all that is wrong with the options.
func New(o Options) (*Sink, error) {
	endpoint := cmp.Or(o.URL, Production)
	if o.TestCode != "" {
		endpoint = cmp.Or(o.URL, TestSystem) + "/" + url.PathEscape(o.TestCode)
	}
	var faults []error
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		faults = append(faults, errors.New("nppa: the URL is not one of http or https"))
	}
	if o.AppID == "" {
		faults = append(faults, errors.New("nppa: an app id is needed, the company's"))
	}
	if o.BizID == "" {
		faults = append(faults, errors.New("nppa: a biz id is needed, the game's"))
	}
	if o.HTTP == nil || o.Keys == nil {
		faults = append(faults, errors.New("nppa: an HTTP client and keys are needed"))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return &Sink{http: o.HTTP, endpoint: endpoint, app: o.AppID, biz: o.BizID, keys: o.Keys}, nil
}

// Check says why a behaviour can never be reported.
func (*Sink) Check(b eventq.Behaviour) error { return check(b) }

// Send tries once. A key that the far side does not know is followed by the next
// at once: one request more than the rate knows of, at a change of keys.
func (s *Sink) Send(ctx context.Context, b eventq.Batch) eventq.Outcome {
	report := newReport(b)
	if len(report.Records) == 0 {
		return report.outcome(answer{code: "unsent", delivery: eventq.Refused})
	}
	plain, err := json.Marshal(report)
	if err != nil {
		return eventq.Outcome{Delivery: eventq.Refused, Code: "unsent", Err: fmt.Errorf("encode a report: %w", err)}
	}
	return report.outcome(s.sendWithKeys(ctx, plain, b.Now))
}

// Close has nothing to end: the client is the caller's.
func (*Sink) Close() error { return nil }
