package sink

import (
	"encoding/json"
	"errors"

	"laststand/internal/eventq"
)

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
