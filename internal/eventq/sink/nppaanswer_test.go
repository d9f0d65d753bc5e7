package sink

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"laststand/internal/eventq"
)

// The errcode decides, whatever form data has.
func TestReadForms(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", `,"data":""`, `,"data":null`, `,"data":{}`, `,"data":[]`, `,"data":{"results":null}`, `,"data":{"results":[]}`, `,"data":{"results":"?"}`} {
		a := parseAnswer([]byte(`{"errcode":0,"errmsg":"OK"` + data + `}`))
		if a.Code != "0" || a.Delivery != eventq.Delivered || a.Err != nil || len(a.items) > 0 {
			t.Errorf("%s: %+v", data, a)
		}
		a = parseAnswer([]byte(`{"errcode":3001,"errmsg":"BUS COLL PARTIAL ERROR"` + data + `}`))
		if a.Code != "3001" || a.Delivery != eventq.TryAgain || a.Err == nil {
			t.Errorf("a part that is not named, %s: %+v", data, a)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "<html>", "null", "{}", "[]", `{"errcode":"0"}`, `{"errcode":0`, `{"errmsg":"ok"}`} {
		if a := parseAnswer([]byte(body)); a.Code != "unreadable" || a.Delivery != eventq.TryAgain || a.Err == nil {
			t.Errorf("%q: %+v", body, a)
		}
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	fates := map[eventq.Delivery][]int{
		eventq.Delivered: {0},
		eventq.TryAgain:  {1001, 1006, 1007, 3001, 4001, 9999},
		eventq.Forbidden: {1002, 1003, 1004, 1005, 1008, 1009, 1010, 1011, 1012, 4002},
		eventq.Refused:   {3002, 3003, 3004, 3005, 3006, 3007, 3008, 3009, 3010, 4003},
	}
	for fate, codes := range fates {
		for _, code := range codes {
			a := parseAnswer(fmt.Appendf(nil, `{"errcode":%d,"errmsg":"%s","data":""}`, code, pi))
			if a.Delivery != fate || (a.Err == nil) != (code == 0) || (a.RetryAfter != 0) != (code == 1006) {
				t.Errorf("%d: %+v, want fate %d", code, a, fate)
			}
			if a.Err != nil && strings.Contains(a.Err.Error(), pi) {
				t.Errorf("%d: the message of the far side is told on: %v", code, a.Err)
			}
		}
	}
	if a := parseAnswer([]byte(`{"errcode":1006}`)); a.RetryAfter != time.Minute || a.Code != "1006" {
		t.Errorf("a ban: %+v", a)
	}
	if a := parseAnswer([]byte(`{"errcode":9999}`)); a.Code != "other" {
		t.Errorf("an errcode that nobody knows: %+v", a)
	}
}

// Items that an answer names follow their own errcode, the others that of the
// batch.
func TestOutcomeOfItems(t *testing.T) {
	t.Parallel()
	const arrived, again, refused, banned = eventq.Delivered, eventq.TryAgain, eventq.Refused, eventq.Forbidden
	tests := map[string]struct {
		body string
		want []eventq.Delivery // of three
	}{
		"the failed ones":            {`{"errcode":3001,"data":{"results":[{"no":2,"errcode":3008}]}}`, []eventq.Delivery{arrived, refused, arrived}},
		"all of them":                {`{"errcode":3001,"data":{"results":[{"no":1,"errcode":0},{"no":2,"errcode":1001},{"no":3,"errcode":0}]}}`, []eventq.Delivery{arrived, again, arrived}},
		"under success":              {`{"errcode":0,"data":{"results":[{"no":3,"errcode":3010}]}}`, []eventq.Delivery{arrived, arrived, refused}},
		"under the code of one item": {`{"errcode":3005,"data":{"results":[{"no":1,"errcode":3005}]}}`, []eventq.Delivery{refused, arrived, arrived}},
		"of rights":                  {`{"errcode":3001,"data":{"results":[{"no":1,"errcode":1010}]}}`, []eventq.Delivery{banned, arrived, arrived}},
		"of a number never sent":     {`{"errcode":3001,"data":{"results":[{"no":9,"errcode":3005},{"no":1,"errcode":3005}]}}`, []eventq.Delivery{refused, arrived, arrived}},
	}
	for name, test := range tests {
		report := newReport(eventq.Batch{Now: vectorNow, Items: []eventq.Item{item(t, verified()), item(t, guest()), item(t, verified())}})
		o := report.outcome(parseAnswer([]byte(test.body)))
		for i, want := range test.want {
			if itemDelivery(o, i) != want {
				t.Errorf("%s: item %d has fate %d, want %d", name, i, itemDelivery(o, i), want)
			}
		}
		if o.Err == nil {
			t.Errorf("%s: it does not say why", name)
		}
	}
}

func itemDelivery(o eventq.Outcome, i int) eventq.Delivery {
	if o.Items == nil {
		return o.Delivery
	}
	return o.Items[i]
}
