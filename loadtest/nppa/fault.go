package nppa

import (
	"io"
	"net/http"
	"time"
)

// Fault is what happens to a request before or instead of a normal answer. After the delay,
// the first field that is set decides. If none is set, the fake checks the request.
type Fault struct {
	Delay  time.Duration
	Cut    bool   // close the connection without an answer
	Status int    // HTTP status, with a page that is not JSON
	Body   string // body of the answer
	Code   int    // errcode of the answer, in the usual form
}

// PlanFaults adds faults for the next requests, one each, in order.
func (f *Fake) PlanFaults(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, faults...)
}

func (f *Fake) nextFault() (next Fault, planned bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.faults) == 0 {
		return Fault{}, false
	}
	next, f.faults = f.faults[0], f.faults[1:]
	return next, true
}

// applyFault applies a fault. It reports whether the fault was the answer.
func (f *Fake) applyFault(fault Fault, w http.ResponseWriter, r *http.Request) bool {
	if fault.Delay > 0 {
		select {
		case <-time.After(fault.Delay):
		case <-r.Context().Done():
			return true
		}
	}
	switch {
	case fault.Cut:
		panic(http.ErrAbortHandler)
	case fault.Status != 0:
		http.Error(w, "<html>a gateway</html>", fault.Status)
	case fault.Body != "":
		_, _ = io.WriteString(w, fault.Body)
	case fault.Code != 0:
		f.writeAnswer(w, fault.Code, nil)
	default:
		return false
	}
	return true
}
