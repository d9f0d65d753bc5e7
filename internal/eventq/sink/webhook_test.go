package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/httpserver"
	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

const (
	oldKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newKey = "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
	now    = 1_795_000_000_123
)

// A receiver with only the old key can verify a message that is signed with both.
func TestSendIsSigned(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, http.StatusNoContent, "")
	sink := at.sink(t, WebhookOptions{Keys: keysOf(newKey + "\n" + oldKey)})
	want(t, sink.Send(t.Context(), batchOf(`{"id":"a","type":"online"}`, `{"id":"b","type":"offline"}`)), eventq.Outcome{Delivery: eventq.Delivered, Code: "204"})

	r := at.onlyPost(t)
	if err := r.Verify(oldKey, time.UnixMilli(now)); err != nil {
		t.Errorf("by the old key: %v", err)
	}
	if err := r.Verify(newKey, time.UnixMilli(now)); err != nil {
		t.Errorf("by the new key: %v", err)
	}
	if r.ID() != "batch_1" || r.Header.Get(webhook.HeaderTimestamp) != "1795000000" {
		t.Errorf("headers %v", r.Header)
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || len(r.Header.Values("Idempotency-Key")) > 0 {
		t.Errorf("%s with %v", r.Method, r.Header)
	}
	wantBody := `{"type":"game.behaviour.batch","timestamp":"2026-11-18T11:06:40.123Z","data":{"game":"quiz \"1\"","items":[{"id":"a","type":"online"},{"id":"b","type":"offline"}]}}`
	if string(r.Body) != wantBody {
		t.Errorf("body\n%s, want\n%s", r.Body, wantBody)
	}
}

// All attempts have the same id; each has its own timestamp.
func TestSendAgain(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, http.StatusBadGateway, "")
	sink := at.sink(t, WebhookOptions{})
	b := batchOf(`{"id":"a","type":"online"}`)
	sink.Send(t.Context(), b)
	b.Now += 61_000
	sink.Send(t.Context(), b)
	first, second := at.Requests()[0], at.Requests()[1]
	if first.ID() != second.ID() || first.Header.Get(webhook.HeaderTimestamp) != "1795000000" || second.Header.Get(webhook.HeaderTimestamp) != "1795000061" {
		t.Errorf("%+v, then %+v", first.Header, second.Header)
	}
	if err := second.Verify(oldKey, time.UnixMilli(b.Now)); err != nil {
		t.Error(err)
	}
}

func TestCloudEvents(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, http.StatusAccepted, "")
	sink := at.sink(t, WebhookOptions{Format: CloudEventsBatch})
	b := batchOf(`{"id":"a\"1","type":"online","at":1}`, `{"id":"b","type":"a \u00e4","data":{"id":"x","type":"y"}}`)
	b.Items[0].At, b.Items[1].At = 1_000, 1_795_000_000_001
	want(t, sink.Send(t.Context(), b), eventq.Outcome{Delivery: eventq.Delivered, Code: "202"})
	r := at.onlyPost(t)
	if kind := r.Header.Get("Content-Type"); kind != "application/cloudevents-batch+json; charset=UTF-8" {
		t.Errorf("Content-Type %s", kind)
	}
	if err := r.Verify(oldKey, time.UnixMilli(now)); err != nil {
		t.Error(err)
	}
	type event struct {
		SpecVersion, ID, Source, Type, Time string
		Data                                json.RawMessage
	}
	var got []event
	if err := json.Unmarshal(r.Body, &got); err != nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
	wanted := []event{
		{"1.0", `a"1`, "/v1/games/quiz%20%221%22", "game.behaviour.online", "1970-01-01T00:00:01.000Z", b.Items[0].Body},
		{"1.0", "b", "/v1/games/quiz%20%221%22", "game.behaviour.a ä", time.UnixMilli(b.Items[1].At).UTC().Format(time.RFC3339Nano), b.Items[1].Body},
	}
	if fmt.Sprintf("%s", got) != fmt.Sprintf("%s", wanted) {
		t.Errorf("got %s, want %s", got, wanted)
	}
}

// The sink reads the keys for every attempt. Without keys it sends nothing.
func TestKeysChange(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, http.StatusOK, "")
	text, fault := oldKey, error(nil)
	sink := at.sink(t, WebhookOptions{Keys: func() ([]webhook.Key, error) {
		if fault != nil {
			return nil, fault
		}
		return webhook.ParseKeys(text)
	}})
	b := batchOf(`{"id":"a","type":"online"}`)
	sink.Send(t.Context(), b)
	text = newKey
	sink.Send(t.Context(), b)
	for i, key := range []string{oldKey, newKey} {
		if err := at.Requests()[i].Verify(key, time.UnixMilli(now)); err != nil {
			t.Errorf("try %d: %v", i, err)
		}
	}
	text = ""
	want(t, sink.Send(t.Context(), b), eventq.Outcome{Delivery: eventq.TryAgain, Code: "keys", Err: webhook.ErrInvalidKey})
	fault = errors.New("no such file")
	want(t, sink.Send(t.Context(), b), eventq.Outcome{Delivery: eventq.TryAgain, Code: "keys", Err: fault})
	b.ID, fault, text = "a.b", nil, oldKey
	want(t, sink.Send(t.Context(), b), eventq.Outcome{Delivery: eventq.TryAgain, Code: "keys", Err: webhook.ErrInvalidID})
	if len(at.Requests()) != 2 {
		t.Errorf("sent %d times", len(at.Requests()))
	}
}

func TestFaultyItemIsNotSent(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, http.StatusOK, "")
	sink := at.sink(t, WebhookOptions{Format: CloudEventsBatch})
	for _, body := range []string{`{}`, `{"id":"a"}`, `{"type":"a"}`, `{"id":"","type":"a"}`, `{"id":1111,"type":"a"}`, `secret`} {
		outcome := sink.Send(t.Context(), batchOf(body))
		if outcome.Delivery != eventq.Refused || outcome.Code != "encoding" || outcome.Err == nil || strings.Contains(outcome.Err.Error(), "secret") {
			t.Errorf("%s: %+v", body, outcome)
		}
	}
	if len(at.Requests()) > 0 {
		t.Errorf("sent %s", at.Requests()[0].Body)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "receiver.test", "ftp://receiver.test/secret", "http:///secret", "http://[::1/secret", "http://a b/secret"} {
		if _, err := NewWebhook(WebhookOptions{URL: address}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := NewWebhook(WebhookOptions{URL: "https://receiver.test", Format: "xml"}); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("the format xml: %v", err)
	}
}

func TestManySendAtOnce(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, http.StatusOK, "")
	sink := at.sink(t, WebhookOptions{})
	var sends sync.WaitGroup
	for i := range 20 {
		sends.Go(func() {
			b := batchOf(fmt.Sprintf(`{"id":"%d","type":"online"}`, i))
			b.ID = fmt.Sprint(i)
			want(t, sink.Send(t.Context(), b), eventq.Outcome{Delivery: eventq.Delivered, Code: "200"})
		})
	}
	sends.Wait()
	ids := map[string]bool{}
	for _, r := range at.Requests() {
		ids[r.ID()] = true
		if !strings.Contains(string(r.Body), `{"id":"`+r.ID()+`"`) {
			t.Errorf("%s has %s", r.ID(), r.Body)
		}
		if err := r.Verify(oldKey, time.UnixMilli(now)); err != nil {
			t.Error(err)
		}
	}
	if len(ids) != 20 {
		t.Errorf("%d of 20 batches", len(ids))
	}
}

// receiver is one with sinks that post to it.
type receiver struct{ *testenv.Receiver }

func newReceiver(t *testing.T, status int, answer string, headers ...string) receiver {
	t.Helper()
	return receiver{testenv.StartReceiver(t, status, answer, headers...)}
}

func (at receiver) onlyPost(t *testing.T) testenv.ReceivedRequest {
	t.Helper()
	if len(at.Requests()) != 1 {
		t.Fatalf("%d requests", len(at.Requests()))
	}
	return at.Requests()[0]
}

// sink returns a sink for the receiver. It uses the old key if the options name
// none.
func (at receiver) sink(t *testing.T, o WebhookOptions) *Webhook {
	t.Helper()
	o.URL, o.Client = at.URL, guarded(t, httpserver.ClientOptions{AllowPrivate: true})
	if o.Keys == nil {
		o.Keys = keysOf(oldKey)
	}
	sink, err := NewWebhook(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sink.Close() })
	return sink
}

func guarded(t *testing.T, o httpserver.ClientOptions) *http.Client {
	t.Helper()
	client := httpserver.NewClient(o)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func keysOf(text string) func() ([]webhook.Key, error) {
	return func() ([]webhook.Key, error) { return webhook.ParseKeys(text) }
}

func batchOf(bodies ...string) eventq.Batch {
	b := eventq.Batch{ID: "batch_1", Game: `quiz "1"`, Now: now}
	for _, body := range bodies {
		b.Items = append(b.Items, eventq.Item{At: now, Body: []byte(body)})
	}
	return b
}

// want compares outcomes. The error must wrap that of want. If want has none,
// there must be an error unless everything arrived.
func want(t *testing.T, got, want eventq.Outcome) {
	t.Helper()
	if want.Err != nil && !errors.Is(got.Err, want.Err) {
		t.Errorf("error %v, want %v", got.Err, want.Err)
	}
	if fine := got.Delivery == eventq.Delivered && got.Items == nil; fine != (got.Err == nil) {
		t.Errorf("error %v of %+v", got.Err, got)
	}
	got.Err, want.Err = nil, nil
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

var _ eventq.Sink = (*Webhook)(nil)
