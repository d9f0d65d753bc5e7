package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"laststand/internal/eventq"
)

// report holds the items of a batch that can be reported.
type report struct {
	Records []record `json:"collections"` // numbered from 1

	deliveries []eventq.Delivery // of the items: refused, if the answer says nothing else
	faults     map[string]int    // why items cannot be reported or were not accepted, with the number of each
}

func newReport(b eventq.Batch) report {
	r := report{deliveries: slices.Repeat([]eventq.Delivery{eventq.Refused}, len(b.Items)), faults: make(map[string]int)}
	for i, item := range b.Items {
		one, err := newRecord(item, b.Now)
		if err != nil {
			r.faults[err.Error()]++
			continue
		}
		one.No, one.position = len(r.Records)+1, i
		r.Records = append(r.Records, one)
	}
	return r
}

// outcome applies the answer to the batch.
func (r report) outcome(a answer) eventq.Outcome {
	for _, record := range r.Records {
		delivery := a.Delivery
		if code, isNamed := a.items[record.No]; isNamed {
			if delivery = meaningOf(code).delivery; code != codeAccepted {
				r.faults[describeCode(code)]++
			}
		}
		r.deliveries[record.position] = delivery
	}
	o := a.Outcome
	if slices.ContainsFunc(r.deliveries, func(d eventq.Delivery) bool { return d != o.Delivery }) {
		o.Items = r.deliveries
	}
	if len(r.faults) > 0 {
		o.Err = r.describeFaults(o.Err)
	}
	return o
}

// describeFaults joins why a batch was not accepted, if it was not, and why some of its
// items were not.
func (r report) describeFaults(whole error) error {
	var causes []string
	if whole != nil {
		causes = append(causes, whole.Error())
	}
	for _, fault := range slices.Sorted(maps.Keys(r.faults)) {
		causes = append(causes, fmt.Sprintf("%d × %s", r.faults[fault], fault))
	}
	return errors.New(strings.Join(causes, "; "))
}

// answer is the result of a request. The Delivery of its outcome is that of the
// items that it does not name.
type answer struct {
	eventq.Outcome
	items      map[int]int // the errcodes of the items that it names, by number
	tryNextKey bool        // the far side may accept the next key
}

// parseAnswer reads the body of an answer. The specification says that data is an
// object. The documentation shows the text "". It may also be absent.
func parseAnswer(body []byte) answer {
	var reply struct {
		Code *int            `json:"errcode"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil || reply.Code == nil {
		return failed("unreadable", errors.New("the answer is not one of the interface"))
	}
	code := *reply.Code
	a := answer{
		Outcome: eventq.Outcome{Code: errcodeLabel(code), Delivery: meaningOf(code).delivery},
		items:   make(map[int]int), tryNextKey: code == codeBadSignature || code == codeBadMessage,
	}
	var data struct {
		Results []struct {
			No   int `json:"no"`
			Code int `json:"errcode"`
		} `json:"results"`
	}
	if json.Unmarshal(reply.Data, &data) == nil {
		for _, r := range data.Results {
			a.items[r.No] = r.Code
		}
	}
	switch {
	case code == codeAccepted:
	case code >= codePartial && code < 4000 && len(a.items) > 0:
		a.Delivery = eventq.Delivered // the answer names the items that did not arrive
	default:
		a.Err = errors.New("the NPPA answers " + describeCode(code))
	}
	if code == codeBusy {
		a.RetryAfter = banPeriod
	}
	return a
}

// failed returns the answer of a request that got no answer of the interface.
func failed(code string, err error) answer {
	return answer{Outcome: eventq.Outcome{Code: code, Delivery: eventq.TryAgain, Err: err}}
}
