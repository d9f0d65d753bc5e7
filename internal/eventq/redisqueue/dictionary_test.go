package redisqueue

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"laststand/internal/eventq"
)

// bodies covers all forms of a body.
func bodies() map[string]eventq.Behaviour {
	full := eventq.Behaviour{
		ID: "a1", Type: eventq.Online, At: epoch, Player: "p_1", Device: "d", Session: "s", Account: eventq.Verified,
		PI: "pi", Data: json.RawMessage(`{"score":1,"by":{"id":"a1","type":"x"},"at":17}`),
	}
	guest, bare, other, odd := full, full, full, full
	guest.Account, guest.PI, guest.Device = eventq.Guest, "", ""
	bare.Player, bare.Device, bare.Session, bare.PI, bare.Data = "", "", "", "", nil
	other.At = 17
	odd.ID, odd.Player, odd.Data = `a"b`, "\x01\x02é\"", json.RawMessage(`{}`)
	return map[string]eventq.Behaviour{"full": full, "guest": guest, "bare": bare, "of another time": other, "escaped": odd}
}

func TestBodiesRoundTrip(t *testing.T) {
	t.Parallel()
	for name, b := range bodies() {
		body, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range []eventq.Item{{ID: b.ID, At: epoch, Body: body}, {ID: "another", Body: body}, {}, {ID: "x", Body: []byte(`[]`)}} {
			short := compress(nil, &item)
			if got := decompress(nil, string(short), &item); string(got) != string(item.Body) {
				t.Errorf("%s: %s became %q and %s", name, item.Body, short, got)
			}
			if name == "full" && item.ID == "a1" && len(short) > len(body)/2 {
				t.Errorf("%d bytes of %d: %q", len(short), len(body), short)
			}
		}
	}
}

func FuzzShorten(f *testing.F) {
	for _, b := range bodies() {
		body, _ := json.Marshal(b)
		f.Add(b.ID, b.At, body)
	}
	f.Fuzz(func(t *testing.T, id string, at int64, body []byte) {
		if !json.Valid(body) || strings.ContainsAny(string(body), "\t\r\n") { // it is compact JSON
			return
		}
		item := eventq.Item{ID: id, At: at, Body: body}
		if got := decompress(nil, string(compress(nil, &item)), &item); string(got) != string(body) {
			t.Errorf("%s became %s", body, got)
		}
	})
}

// Batches that end inside bundles have all of their items and no others.
func TestBundlesAreShared(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.BatchSize = 100
		var want []eventq.Item
		for i := range 5 {
			items := l.ownItems(ids(100*i, 70)...)
			for j := range items {
				items[j].QueuedAt += int64(j)
				items[j].Body = fmt.Appendf(nil, `{"id":%q,"type":"x","at":%d,"data":{"text":"%s"}}`, items[j].ID, items[j].At, strings.Repeat("é ", j))
			}
			want = append(want, items...)
			l.push(items)
		}
		heads := l.client.LRange(l.Context(), l.keys.queue(l.terms.Game), 0, -1).Val()
		if len(heads) != 30 || !strings.HasPrefix(heads[0], "32 0 s ") {
			l.Fatalf("%d elements, the first %.40q", len(heads), heads[0])
		}
		var got []eventq.Item
		for i, batches := range [][]string{{"b1"}, {"b2", "b3"}} {
			got = append(got, l.takeSome(batches...).Items...)
			if peeked, err := l.Peek(l.Context(), l.terms.Game, 1000); err != nil || !reflect.DeepEqual(peeked, want[len(got):]) {
				l.Errorf("after take %d there are %d, %v", i, len(peeked), err)
			}
		}
		if _, err := l.Discard(l.Context(), l.terms.Game, 20, eventq.Rejected); err != nil {
			l.Fatal(err)
		}
		got = append(got, want[300:320]...)
		got = append(got, l.takeSome("b4", "b5").Items...)
		if !reflect.DeepEqual(got, want) {
			l.Errorf("%d items that are not the %d that went in", len(got), len(want))
		}
		if again := l.take("b2").Items; !reflect.DeepEqual(again, want[100:200]) {
			l.Errorf("the second batch has %d items, from %s", len(again), again[0].ID)
		}
	})
}
