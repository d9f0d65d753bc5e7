package nppa

import (
	"io"
	"net/http"
	"time"
)

// Fault is what happens to a request instead of, or before, a true answer. The
// first of these that is set decides, after the delay; with none of them the
// request is judged.
type Fault struct {
	Delay  time.Duration
	Cut    bool   // the connection, without an answer
	Status int    // of HTTP, with a page that is not JSON
	Body   string // of an answer
	Code   int    // the errcode of an answer, in the usual form
}

// Plan has the next requests meet with faults, one each, in order.
func (f *Fake) Plan(faults ...Fault) {
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

// meet says whether the fault was the answer.
func (f *Fake) meet(fault Fault, w http.ResponseWriter, r *http.Request) bool {
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
		f.answer(w, fault.Code, nil)
	default:
		return false
	}
	return true
}
