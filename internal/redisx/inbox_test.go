package redisx_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

// testInbox is the running inbox of a node. It records its messages.
type testInbox struct {
	*redisx.Inbox
	node     string
	registry *prometheus.Registry

	mu       sync.Mutex
	received []string
	missed   int // number of calls of the function of HandleMissed
}

// newTestInbox runs the inbox of a new node until the test ends. It returns when the
// inbox is subscribed.
func newTestInbox(t *testing.T, conn *redisx.Conn) *testInbox {
	t.Helper()
	inbox := &testInbox{node: rand.Text(), registry: prometheus.NewRegistry()}
	inbox.Inbox = redisx.NewInbox(conn, redisx.InboxConfig{Node: inbox.node, Registry: inbox.registry})
	inbox.Handle("word", func(payload []byte) {
		inbox.mu.Lock()
		defer inbox.mu.Unlock()
		inbox.received = append(inbox.received, string(payload))
	})
	inbox.HandleMissed(func() {
		inbox.mu.Lock()
		defer inbox.mu.Unlock()
		inbox.missed++
	})
	testenv.Run(t, inbox.Run)
	waitUntil(t, "the inbox is subscribed", func() bool { return inbox.Ready(t.Context()) == nil })
	return inbox
}

func (i *testInbox) messages() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.received)
}

func (i *testInbox) missedCount() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.missed
}

// awaitMessage makes another inbox send messages until one arrives, because messages without a
// subscriber are lost.
func (i *testInbox) awaitMessage(t *testing.T, sender *testInbox) {
	t.Helper()
	before := len(i.messages())
	waitUntil(t, "a message arrives", func() bool {
		sender.Send(t.Context(), []string{i.node}, "word", []byte("again"))
		return len(i.messages()) > before
	})
}

func TestMessagesArriveInOrder(t *testing.T) {
	t.Parallel()
	const messageCount = 10_000
	eachKind(t, func(t *testing.T, conn *redisx.Conn, _ string) {
		sender, receiver := newTestInbox(t, conn), newTestInbox(t, conn)
		for i := range messageCount {
			sender.Send(t.Context(), []string{sender.node, receiver.node}, "word", strconv.AppendInt(nil, int64(i), 10))
		}
		if conn.Kind == redisx.KindEmbedded {
			if len(receiver.messages()) > 0 {
				t.Error("an embedded Redis connects two nodes")
			}
			return
		}
		distinctMessages := func() []string { return slices.Compact(slices.Clone(receiver.messages())) } // after a slow reply, a message may arrive twice
		waitUntil(t, "all messages arrive", func() bool { return len(distinctMessages()) >= messageCount })
		for i, got := range distinctMessages() {
			if got != strconv.Itoa(i) {
				t.Fatalf("message %d is %s", i, got)
			}
		}
		if got := sender.messages(); len(got) > 0 {
			t.Errorf("the sender got %d of its own messages", len(got))
		}
		if receiver.missedCount() != 1 {
			t.Errorf("HandleMissed was called %d times, want once, after the first subscription", receiver.missedCount())
		}
		if received := metricSum(t, sender.registry, "laststand_inbox_messages_sent_total", "outcome", "delivered"); received != messageCount {
			t.Errorf("%v messages were delivered", received)
		}
		if received := metricSum(t, receiver.registry, "laststand_inbox_messages_received_total", "kind", "word"); received != messageCount {
			t.Errorf("%v messages were received", received)
		}
	})
}

// A payload may have any bytes and be large.
func TestPayloadsMayBeAnyBytes(t *testing.T) {
	t.Parallel()
	large := make([]byte, 600<<10)
	_, _ = rand.Read(large)
	eachKind(t, func(t *testing.T, conn *redisx.Conn, _ string) {
		if conn.Kind == redisx.KindEmbedded {
			return
		}
		sender, receiver := newTestInbox(t, conn), newTestInbox(t, conn)
		payloads := [][]byte{nil, []byte("\n"), []byte("two\nlines"), {0, 0xff, '\r', '\n'}, large}
		for _, payload := range payloads {
			sender.Send(t.Context(), []string{receiver.node}, "word", payload)
		}
		waitUntil(t, "all messages arrive", func() bool { return len(receiver.messages()) >= len(payloads) })
		for i, got := range receiver.messages() {
			if !bytes.Equal([]byte(got), payloads[i]) {
				t.Errorf("payload %d: %.50q, want %.50q", i, got, payloads[i])
			}
		}
	})
}

// One call reaches nodes whose channels belong to several masters. It counts messages
// without a subscriber, and messages of unknown kinds.
func TestSendReachesManyNodes(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, conn *redisx.Conn, _ string) {
		if conn.Kind == redisx.KindEmbedded {
			return
		}
		sender := newTestInbox(t, conn)
		var receivers []*testInbox
		nodes := []string{rand.Text()} // no such node
		for range 8 {
			receivers = append(receivers, newTestInbox(t, conn))
			nodes = append(nodes, receivers[len(receivers)-1].node)
		}
		sender.Send(t.Context(), nodes, "word", []byte("hello"))
		sender.Send(t.Context(), nodes, "strange", nil)
		for _, receiver := range receivers {
			waitUntil(t, "the message arrives", func() bool { return slices.Equal(receiver.messages(), []string{"hello"}) })
			waitUntil(t, "the message of an unknown kind arrives", func() bool {
				return metricSum(t, receiver.registry, "laststand_inbox_messages_received_total", "kind", "other") == 1
			})
		}
		if withoutSubscriber := metricSum(t, sender.registry, "laststand_inbox_messages_sent_total", "outcome", "no_subscriber"); withoutSubscriber != 2 {
			t.Errorf("%v messages had no subscriber, want 2", withoutSubscriber)
		}
	})
}

func TestASlowHandlerDropsMessages(t *testing.T) {
	t.Parallel()
	conn := testenv.OpenRedis(t, testenv.Redis(t).URL)
	sender, receiver := newTestInbox(t, conn), newTestInbox(t, conn)
	receiver.mu.Lock() // its handlers wait
	missedBefore := receiver.missed
	for range 100 {
		sender.Send(t.Context(), slices.Repeat([]string{receiver.node}, 100), "word", nil)
	}
	waitUntil(t, "all messages are received", func() bool {
		return metricSum(t, receiver.registry, "laststand_inbox_messages_received_total", "kind", "word") == 10_000
	})
	receiver.mu.Unlock()
	dropped := metricSum(t, receiver.registry, "laststand_inbox_messages_dropped_total", "kind", "word")
	waitUntil(t, "all messages that were not dropped are handled", func() bool { return float64(len(receiver.messages())) == 10_000-dropped })
	waitUntil(t, "HandleMissed is called", func() bool { return receiver.missedCount() > missedBefore })
	if dropped < 1000 || dropped > 2000 {
		t.Errorf("dropped %v of 10,000, want about those above 8,192", dropped)
	}
}

func TestHandleRefusesInvalidKinds(t *testing.T) {
	t.Parallel()
	inbox := redisx.NewInbox(testenv.OpenRedis(t, ""), redisx.InboxConfig{Node: "n1"})
	inbox.Handle("word", func([]byte) {})
	for _, kind := range []string{"", "a\nb", "word"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Handle accepted the kind %q", kind)
				}
			}()
			inbox.Handle(kind, func([]byte) {})
		}()
	}
}

// metricSum returns the sum of a metric's samples that have a label with a value; of all samples
// if label is "".
func metricSum(t *testing.T, registry *prometheus.Registry, name, label, value string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum, found := 0.0, false
	for _, family := range families {
		for _, sample := range family.GetMetric() {
			matching := label == ""
			for _, pair := range sample.GetLabel() {
				matching = matching || pair.GetName() == label && pair.GetValue() == value
			}
			if family.GetName() == name && matching {
				sum, found = sum+sample.GetCounter().GetValue()+sample.GetGauge().GetValue(), true
			}
		}
	}
	if !found {
		t.Fatal(fmt.Sprint("no metric ", name, value))
	}
	return sum
}
