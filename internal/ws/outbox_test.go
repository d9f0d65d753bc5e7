package ws

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// outboxModel is a simple outbox that follows the contract.
type outboxModel struct {
	queue, held []heldPush
	holding     bool
	writing     bool
	writerHeld  bool // the goroutine that called hold is also the writer
	closed      bool
	woken, full int
}

func (m *outboxModel) put(p heldPush) {
	m.queue = append(m.queue, p)
	m.bound()
	if !m.closed && !m.writing {
		m.writing = true
		m.woken++
	}
}

// bytes returns the size of the queued and held frames.
func (m *outboxModel) bytes() (size int) {
	for _, p := range slices.Concat(m.queue, m.held) {
		size += len(p.frame)
	}
	return size
}

// closeIfFull closes the outbox if it exceeds a limit.
func (m *outboxModel) bound() {
	if len(m.queue)+len(m.held) > maxOutboxFrames || m.bytes() > maxOutboxBytes {
		m.full++
		m.close()
	}
}

func (m *outboxModel) close() { m.closed, m.queue, m.held = true, nil, nil }

// Random operations on an outbox and on the model have the same results: order, replies
// before held pushes, limits.
func TestTheOutboxEqualsAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var o outbox
		var m outboxModel
		woken, full, made := 0, 0, 0
		o.init(func() { woken++ }, func() { full++ })
		frame := func() []byte {
			made++
			size := rapid.SampledFrom([]int{0, 10, 1000, maxOutboxBytes / 4, maxOutboxBytes}).Draw(t, "size")
			return append([]byte(fmt.Sprint(made, ":")), make([]byte, size)...)
		}
		push := func(match string, f []byte) {
			o.push(match, f)
			switch {
			case m.closed:
			case m.holding:
				m.held = append(m.held, heldPush{match, f})
				m.bound()
			default:
				m.put(heldPush{match, f})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) { push(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "match"), frame()) },
			"push many": func(t *rapid.T) {
				for range rapid.IntRange(1, maxOutboxFrames).Draw(t, "pushes") {
					push("a", []byte("small"))
				}
			},
			"reply": func(*rapid.T) {
				f := frame()
				o.reply(f)
				if !m.closed {
					m.put(heldPush{"", f})
				}
			},
			"hold": func(*rapid.T) {
				o.hold()
				m.holding = true
				if !m.writing {
					m.writing, m.writerHeld = true, true
				}
			},
			"release": func(t *rapid.T) {
				if writes := o.release(); writes != m.writerHeld {
					t.Fatalf("release returned %v, want %v", writes, m.writerHeld)
				}
				m.holding, m.writerHeld = false, false
				held := m.held
				m.held = nil
				for _, p := range held {
					m.put(p)
				}
			},
			"drop held": func(*rapid.T) {
				o.dropHeld("a")
				m.held = slices.DeleteFunc(m.held, func(p heldPush) bool { return p.tag == "a" })
			},
			"take a batch": func(t *rapid.T) {
				if !m.writing || m.writerHeld {
					t.Skip("no writer")
				}
				got := o.takeBatch()
				if len(got) != len(m.queue) {
					t.Fatalf("%d frames taken, want %d", len(got), len(m.queue))
				}
				for i, p := range m.queue {
					if !bytes.Equal(got[i], p.frame) {
						t.Fatalf("frame %d of %d differs", i, len(got))
					}
				}
				m.writing = len(m.queue) > 0
				m.queue = nil
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") > 0 {
					t.Skip("not now")
				}
				o.close()
				m.close()
			},
			"": func(t *rapid.T) {
				if woken != m.woken || full != m.full || o.closed != m.closed || o.hasWriter != m.writing {
					t.Fatalf("woken %d, full %d, closed %v, writing %v; want %d, %d, %v, %v",
						woken, full, o.closed, o.hasWriter, m.woken, m.full, m.closed, m.writing)
				}
				if o.bytes != m.bytes() {
					t.Fatalf("the outbox counts %d bytes; %d are queued or held", o.bytes, m.bytes())
				}
			},
		})
	})
}

// recordingOutbox is an outbox whose writer records the frames.
type recordingOutbox struct {
	outbox
	mu      sync.Mutex
	written [][]byte
	delay   time.Duration // before each batch is recorded
}

func newRecordingOutbox(slow time.Duration) *recordingOutbox {
	p := &recordingOutbox{delay: slow}
	p.init(func() { go p.write() }, func() {})
	return p
}

func (p *recordingOutbox) write() {
	for batch := p.takeBatch(); batch != nil; batch = p.takeBatch() {
		time.Sleep(p.delay)
		p.mu.Lock()
		p.written = append(p.written, batch...)
		p.mu.Unlock()
	}
}

// releaseAndWrite calls release, and writes if release returns true.
func (p *recordingOutbox) releaseAndWrite() {
	if p.release() {
		p.write()
	}
}

func (p *recordingOutbox) all() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written
}

// With concurrent callers of push, the frames of each arrive once and in order.
func TestTheOutboxKeepsTheOrderOfConcurrentPushes(t *testing.T) {
	t.Parallel()
	p := newRecordingOutbox(0)
	const pushers, each = 4, 100 // below the limit of frames, however slow the writer is
	var pushing sync.WaitGroup
	for pusher := range pushers {
		pushing.Go(func() {
			for i := range each {
				p.push("m", []byte{byte(pusher), byte(i)})
			}
		})
	}
	for range 20 {
		p.hold()
		p.releaseAndWrite()
	}
	pushing.Wait()
	p.flush()
	var next [pushers]byte
	for _, f := range p.all() {
		if f[1] != next[f[0]] {
			t.Fatalf("pusher %d: frame %d instead of %d", f[0], f[1], next[f[0]])
		}
		next[f[0]]++
	}
	if next != [pushers]byte{each, each, each, each} {
		t.Errorf("frames written per pusher: %v", next)
	}
}

// A flush waits for the reply that is being prepared, for held pushes and for the writer.
// Frames that come later are dropped.
func TestFlushWaitsForAllFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newRecordingOutbox(time.Second)
		p.hold()
		p.push("m", []byte("push"))
		var flushed atomic.Bool
		go func() {
			p.flush()
			flushed.Store(true)
		}()
		synctest.Wait()
		p.reply([]byte("reply"))
		go p.releaseAndWrite()
		synctest.Wait()
		if flushed.Load() {
			t.Fatal("flushed before it was written")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		p.push("m", []byte("late"))
		p.reply([]byte("late"))
		time.Sleep(3 * time.Second)
		if got := bytes.Join(p.all(), []byte(",")); !flushed.Load() || string(got) != "reply,push" {
			t.Errorf("flushed %v, written %q", flushed.Load(), got)
		}
	})
}

// Closing drops all frames and ends a flush immediately. waitForWriterEnd waits for the writer.
func TestAClosedOutboxDropsFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newRecordingOutbox(time.Second)
		p.push("m", []byte("first"))
		synctest.Wait() // the writer is writing it
		p.push("m", []byte("second"))
		startedAt := time.Now()
		go func() {
			time.Sleep(100 * time.Millisecond)
			p.close()
		}()
		p.flush()
		if elapsed := time.Since(startedAt); elapsed != 100*time.Millisecond {
			t.Errorf("flush took %v", elapsed)
		}
		p.waitForWriterEnd()
		if elapsed := time.Since(startedAt); elapsed != time.Second {
			t.Errorf("waitForWriterEnd took %v", elapsed)
		}
		if got := bytes.Join(p.all(), []byte(",")); string(got) != "first" {
			t.Errorf("written %q", got)
		}
	})
}
