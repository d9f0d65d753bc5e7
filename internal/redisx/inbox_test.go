package redisx_test

import (
	"bytes"
	"context"
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

	mu     sync.Mutex
	got    []string
	missed int // number of calls of the function of HandleMissed
}

// newTestInbox runs the inbox of a new node until the test ends. It returns when the
// inbox is subscribed.
func newTestInbox(t *testing.T, conn *redisx.Conn) *testInbox {
	t.Helper()
	b := &testInbox{node: rand.Text(), registry: prometheus.NewRegistry()}
	b.Inbox = redisx.NewInbox(conn, redisx.InboxConfig{Node: b.node, Registry: b.registry})
	b.Handle("word", func(payload []byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.got = append(b.got, string(payload))
	})
	b.HandleMissed(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.missed++
	})
	run(t, b.Inbox)
	waitUntil(t, "the inbox is subscribed", func() bool { return b.Ready(t.Context()) == nil })
	return b
}

// run runs an inbox until the test ends.
func run(t *testing.T, b *redisx.Inbox) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }() // waited for below
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

func (b *testInbox) messages() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

func (b *testInbox) missedCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missed
}

// awaitMessage makes another inbox send messages until one arrives, because messages without a
// subscriber are lost.
func (b *testInbox) awaitMessage(t *testing.T, from *testInbox) {
	t.Helper()
	before := len(b.messages())
	waitUntil(t, "a message arrives", func() bool {
		from.Send(t.Context(), []string{b.node}, "word", []byte("again"))
		return len(b.messages()) > before
	})
}

func TestMessagesArriveInOrder(t *testing.T) {
	t.Parallel()
	const n = 10_000
	eachKind(t, func(t *testing.T, conn *redisx.Conn, _ string) {
		a, b := newTestInbox(t, conn), newTestInbox(t, conn)
		for i := range n {
			a.Send(t.Context(), []string{a.node, b.node}, "word", strconv.AppendInt(nil, int64(i), 10))
		}
		if conn.Kind == redisx.KindEmbedded {
			if len(b.messages()) > 0 {
				t.Error("an embedded Redis connects two nodes")
			}
			return
		}
		once := func() []string { return slices.Compact(slices.Clone(b.messages())) } // after a slow reply, a message may arrive twice
		waitUntil(t, "all messages arrive", func() bool { return len(once()) >= n })
		for i, got := range once() {
			if got != strconv.Itoa(i) {
				t.Fatalf("message %d is %s", i, got)
			}
		}
		if got := a.messages(); len(got) > 0 {
			t.Errorf("the sender got %d of its own messages", len(got))
		}
		if b.missedCount() != 1 {
			t.Errorf("HandleMissed was called %d times, want once, after the first subscription", b.missedCount())
		}
		if received := metricSum(t, a.registry, "laststand_inbox_messages_sent_total", "outcome", "delivered"); received != n {
			t.Errorf("%v messages were delivered", received)
		}
		if received := metricSum(t, b.registry, "laststand_inbox_messages_received_total", "kind", "word"); received != n {
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
		a, b := newTestInbox(t, conn), newTestInbox(t, conn)
		payloads := [][]byte{nil, []byte("\n"), []byte("two\nlines"), {0, 0xff, '\r', '\n'}, large}
		for _, p := range payloads {
			a.Send(t.Context(), []string{b.node}, "word", p)
		}
		waitUntil(t, "all messages arrive", func() bool { return len(b.messages()) >= len(payloads) })
		for i, got := range b.messages() {
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
		a := newTestInbox(t, conn)
		var others []*testInbox
		nodes := []string{rand.Text()} // no such node
		for range 8 {
			others = append(others, newTestInbox(t, conn))
			nodes = append(nodes, others[len(others)-1].node)
		}
		a.Send(t.Context(), nodes, "word", []byte("hello"))
		a.Send(t.Context(), nodes, "strange", nil)
		for _, b := range others {
			waitUntil(t, "the message arrives", func() bool { return slices.Equal(b.messages(), []string{"hello"}) })
			waitUntil(t, "the message of an unknown kind arrives", func() bool {
				return metricSum(t, b.registry, "laststand_inbox_messages_received_total", "kind", "other") == 1
			})
		}
		if lost := metricSum(t, a.registry, "laststand_inbox_messages_sent_total", "outcome", "no_subscriber"); lost != 2 {
			t.Errorf("%v messages had no subscriber, want 2", lost)
		}
	})
}

func TestASlowHandlerDropsMessages(t *testing.T) {
	t.Parallel()
	conn := open(t, testenv.Redis(t).URL)
	a, b := newTestInbox(t, conn), newTestInbox(t, conn)
	b.mu.Lock() // its handlers wait
	missed := b.missed
	for range 100 {
		a.Send(t.Context(), slices.Repeat([]string{b.node}, 100), "word", nil)
	}
	waitUntil(t, "all messages are received", func() bool {
		return metricSum(t, b.registry, "laststand_inbox_messages_received_total", "kind", "word") == 10_000
	})
	b.mu.Unlock()
	dropped := metricSum(t, b.registry, "laststand_inbox_messages_dropped_total", "kind", "word")
	waitUntil(t, "all messages that were not dropped are handled", func() bool { return float64(len(b.messages())) == 10_000-dropped })
	waitUntil(t, "HandleMissed is called", func() bool { return b.missedCount() > missed })
	if dropped < 1000 || dropped > 2000 {
		t.Errorf("dropped %v of 10,000, want about those above 8,192", dropped)
	}
}

func TestHandleRefusesInvalidKinds(t *testing.T) {
	t.Parallel()
	b := redisx.NewInbox(open(t, ""), redisx.InboxConfig{Node: "n1"})
	b.Handle("word", func([]byte) {})
	for _, kind := range []string{"", "a\nb", "word"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Handle accepted the kind %q", kind)
				}
			}()
			b.Handle(kind, func([]byte) {})
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
	for _, f := range families {
		for _, m := range f.GetMetric() {
			matching := label == ""
			for _, l := range m.GetLabel() {
				matching = matching || l.GetName() == label && l.GetValue() == value
			}
			if f.GetName() == name && matching {
				sum, found = sum+m.GetCounter().GetValue()+m.GetGauge().GetValue(), true
			}
		}
	}
	if !found {
		t.Fatal(fmt.Sprint("no metric ", name, value))
	}
	return sum
}
