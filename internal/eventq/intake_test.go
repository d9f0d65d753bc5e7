package eventq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/identity"
)

func TestEncodeAsEncodingJSON(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("\"\\\b\f\n\r\t\x00\x1f\x7f<>&\u2028\u2029é\ufffd😀"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		b := Behaviour{
			ID: text.Draw(t, "id"), Type: text.Draw(t, "type"), At: rapid.Int64().Draw(t, "at"),
			Player: text.Draw(t, "player"), Device: text.Draw(t, "device"), Session: text.Draw(t, "session"),
			Account: text.Draw(t, "account"), PI: text.Draw(t, "pi"),
			Data: rapid.SampledFrom([]json.RawMessage{nil, []byte(`{}`), []byte(`{"a":[1,"b\n"]}`)}).Draw(t, "data"),
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(b); err != nil {
			t.Fatal(err)
		}
		got, ok := encode(&b)
		if ok != (want.Len()-1 <= MaxBody) {
			t.Fatalf("%d bytes: %v", want.Len()-1, ok)
		} else if !ok {
			return
		}
		if string(got)+"\n" != want.String() {
			t.Fatalf("%s, want %s", got, want.String())
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"a","type":"online","at":1,"account":"guest"}`))
	f.Add([]byte(`{"id":"a","type":"answer","at":1,"account":"verified","pi":"p","player":"p","device":"d","session":"s","data":{"a":[null]}}`))
	f.Add([]byte(`{"ID":"a"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, ok := parse(raw)
		if !ok || !b.isValid() {
			return
		}
		body, ok := encode(&b)
		if !ok {
			return
		}
		again, ok := parse(body)
		if !ok {
			t.Fatalf("%s cannot be read again", body)
		}
		if twice, ok := encode(&again); !ok || !bytes.Equal(twice, body) || bytes.ContainsRune(body, '\n') {
			t.Fatalf("%s, then %s", body, twice)
		}
	})
}

// postedBody is a behaviour as posted, with members replaced or removed.
func postedBody(at int64, set map[string]string) json.RawMessage {
	members := map[string]string{"id": `"x1"`, "type": `"answer"`, "at": fmt.Sprint(at), "account": `"guest"`}
	maps.Copy(members, set)
	var parts []string
	for name, value := range members {
		if value != "" {
			parts = append(parts, fmt.Sprintf("%q : %s", name, value))
		}
	}
	return json.RawMessage("{" + strings.Join(parts, " ,\n") + "}")
}

func TestPostJudgesEach(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", MaxBody) + `"`
	for name, c := range map[string]struct {
		set  map[string]string
		want Reason
	}{
		"plain":             {nil, ""},
		"all":               {map[string]string{"player": `"p"`, "device": `"d"`, "session": `"s"`, "account": `"verified"`, "pi": `"i"`, "data": `{"a": 1}`}, ""},
		"an own word":       {map[string]string{"type": `"level_2.up"`}, ""},
		"unknown field":     {map[string]string{"extra": `1`}, Invalid},
		"case of a field":   {map[string]string{"Player": `"p"`}, Invalid},
		"no id":             {map[string]string{"id": ``}, Invalid},
		"id with a space":   {map[string]string{"id": `"a b"`}, Invalid},
		"long id":           {map[string]string{"id": `"` + strings.Repeat("x", 65) + `"`}, Invalid},
		"no type":           {map[string]string{"type": ``}, Invalid},
		"a word of ids":     {map[string]string{"type": `"Level-2:up"`}, ""},
		"type with a space": {map[string]string{"type": `"level up"`}, Invalid},
		"player is no id":   {map[string]string{"player": `"p p"`}, Invalid},
		"session is no id":  {map[string]string{"session": `"s/1"`}, Invalid},
		"long type":         {map[string]string{"type": `"` + strings.Repeat("x", 65) + `"`}, Invalid},
		"no at":             {map[string]string{"at": ``}, Invalid},
		"at as text":        {map[string]string{"at": `"1"`}, Invalid},
		"at in parts":       {map[string]string{"at": `1.5`}, Invalid},
		"no account":        {map[string]string{"account": ``}, Invalid},
		"other account":     {map[string]string{"account": `"admin"`}, Invalid},
		"null":              {map[string]string{"player": `null`}, Invalid},
		"data as a list":    {map[string]string{"data": `[]`}, Invalid},
		"player as number":  {map[string]string{"player": `1`}, Invalid},
		"too long":          {map[string]string{"data": `{"x":` + long + `}`}, Invalid},
		"spaces count not":  {map[string]string{"data": `{` + strings.Repeat(" ", MaxBody) + `}`}, ""},
		"before the epoch":  {map[string]string{"at": `-9223372036854775808`}, TooOld},
		"far ahead":         {map[string]string{"at": `9223372036854775807`}, Future},
		"refused by sink":   {map[string]string{"type": `"unwanted"`}, Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCluster(t, policyOf("a"))
			w.sink("a").check = func(b Behaviour) error {
				if b.Type == "unwanted" {
					return errSink
				}
				return nil
			}
			n := w.service("n")
			good := postedBody(w.now(), map[string]string{"id": `"other"`})
			got, err := n.Post(t.Context(), "a", []json.RawMessage{postedBody(w.now(), c.set), good})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && (got.Accepted != 2 || len(got.Dropped) != 0) || c.want != "" && (got.Accepted != 1 || got.Dropped[c.want] != 1) {
				t.Errorf("%+v, want %q", got, c.want)
			}
			w.counts("a")
		})
	}
}

func TestPostRefusesInvalidJSON(t *testing.T) {
	t.Parallel()
	w := newCluster(t, policyOf("a"))
	n := w.service("n")
	bodies := []json.RawMessage{nil, []byte("1"), []byte("null"), []byte("[]"), []byte("{"), []byte(`{}{}`), []byte("{\"id\":\"\xff\"}")}
	got, err := n.Post(t.Context(), "a", bodies)
	if err != nil || got.Accepted != 0 || got.Dropped[Invalid] != int64(len(bodies)) {
		t.Errorf("%+v, %v", got, err)
	}
	w.want("a", Counts{Offered: 7, Dropped: map[Reason]int64{Invalid: 7}})
}

func TestPostReportsDuplicatesAndBounds(t *testing.T) {
	t.Parallel()
	small := policyOf("a")
	small.MaxLen, small.Overflow = 2, Reject
	w := newCluster(t, small)
	n := w.service("n")
	post := func(ids ...string) (PostResult, error) {
		var bodies []json.RawMessage
		for _, id := range ids {
			bodies = append(bodies, postedBody(w.now(), map[string]string{"id": `"` + id + `"`}))
		}
		return n.Post(t.Context(), "a", bodies)
	}
	if got, err := post("x", "x"); err != nil || got.Accepted != 1 || got.Dropped[Duplicate] != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := post("y", "z"); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	w.want("a", Counts{Offered: 2, Queued: 1, Dropped: map[Reason]int64{Duplicate: 1}})
	w.set(func() { w.fault = func(string, string) error { return errStore } })
	if _, err := post("y"); !errors.Is(err, errStore) {
		t.Errorf("%v, want the store's", err)
	}
	if _, err := n.Post(t.Context(), "b", nil); !errors.Is(err, ErrNoQueue) {
		t.Errorf("%v, want ErrNoQueue", err)
	}
	if _, err := n.Post(t.Context(), "a", make([]json.RawMessage, MaxPush+1)); err == nil {
		t.Error("more than a push were taken")
	}
}

func TestDroppedPostsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(_ context.Context, n int, _ Batch) Outcome {
			return Outcome{Delivery: []Delivery{Refused, Delivered, Delivered}[n-1], Code: "200"}
		}
		n := w.start("n")
		defer n.stop()
		for i, accepted := range []int{1, 1, 0} { // refused by the far side, taken, a duplicate
			got, err := n.Post(t.Context(), "a", []json.RawMessage{postedBody(w.now(), nil)})
			if err != nil || got.Accepted != accepted {
				t.Errorf("post %d: %+v, %v", i, got, err)
			}
			time.Sleep(3 * time.Second)
		}
		w.want("a", Counts{Offered: 3, Sent: 1, Dropped: map[Reason]int64{Rejected: 1, Duplicate: 1}})
	})
}

func TestOfferAcceptsReportedTypes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.start("n")
		defer n.stop()
		n.Offer("a", Behaviour{Type: MatchEnd, Account: Guest})
		n.Offer("other", Behaviour{Type: Online, Account: Guest})
		n.Offer("a", Behaviour{Type: Online, Account: Guest, Player: "p", Data: json.RawMessage(`{"a":1}`)})
		n.Offer("a", Behaviour{Type: Online, Account: Guest, Data: json.RawMessage("{\"a\":\n1}")})
		n.Offer("a", Behaviour{Type: Online, Account: Guest, Data: json.RawMessage("[]")})
		time.Sleep(150 * time.Millisecond)
		w.want("a", Counts{Offered: 3, Queued: 1, Dropped: map[Reason]int64{Invalid: 2}})
		w.set(func() {
			item := w.games["a"].items[0]
			want := fmt.Sprintf(`{"id":%q,"type":"online","at":%d,"player":"p","account":"guest","data":{"a":1}}`, item.ID, item.At)
			if string(item.Body) != want || !identity.ValidID(item.ID) || item.At == 0 || item.Unique {
				t.Errorf("%s, want %s", item.Body, want)
			}
		})
	})
}
