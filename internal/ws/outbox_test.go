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
	queue, heldPushes       []heldPush
	isHolding               bool
	hasWriter               bool
	holderIsWriter          bool // the goroutine that called hold is also the writer
	closed                  bool
	writerStarts, overflows int
}

func (m *outboxModel) queuePush(p heldPush) {
	m.queue = append(m.queue, p)
	m.closeIfFull()
	if !m.closed && !m.hasWriter {
		m.hasWriter = true
		m.writerStarts++
	}
}

// byteCount returns the size of the queued and held frames.
func (m *outboxModel) byteCount() (size int) {
	for _, p := range slices.Concat(m.queue, m.heldPushes) {
		size += len(p.frame)
	}
	return size
}

// closeIfFull closes the outbox if it exceeds a limit.
func (m *outboxModel) closeIfFull() {
	if len(m.queue)+len(m.heldPushes) > maxOutboxFrames || m.byteCount() > maxOutboxBytes {
		m.overflows++
		m.close()
	}
}

func (m *outboxModel) close() { m.closed, m.queue, m.heldPushes = true, nil, nil }

// Random operations on an outbox and on the model have the same results: order, replies
// before held pushes, limits.
func TestOutboxAgreesWithModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var o outbox
		var model outboxModel
		writerStarts, overflows, frames := 0, 0, 0
		o.init(func() { writerStarts++ }, func() { overflows++ })
		newFrame := func() []byte {
			frames++
			size := rapid.SampledFrom([]int{0, 10, 1000, maxOutboxBytes / 4, maxOutboxBytes}).Draw(t, "size")
			return append([]byte(fmt.Sprint(frames, ":")), make([]byte, size)...)
		}
		push := func(match string, f []byte) {
			o.push(match, f)
			switch {
			case model.closed:
			case model.isHolding:
				model.heldPushes = append(model.heldPushes, heldPush{match, f})
				model.closeIfFull()
			default:
				model.queuePush(heldPush{match, f})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) { push(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "match"), newFrame()) },
			"push many": func(t *rapid.T) {
				for range rapid.IntRange(1, maxOutboxFrames).Draw(t, "pushes") {
					push("a", []byte("small"))
				}
			},
			"reply": func(*rapid.T) {
				f := newFrame()
				o.reply(f)
				if !model.closed {
					model.queuePush(heldPush{"", f})
				}
			},
			"hold": func(*rapid.T) {
				o.hold()
				model.isHolding = true
				if !model.hasWriter {
					model.hasWriter, model.holderIsWriter = true, true
				}
			},
			"release": func(t *rapid.T) {
				if callerWrites := o.release(); callerWrites != model.holderIsWriter {
					t.Fatalf("release returned %v, want %v", callerWrites, model.holderIsWriter)
				}
				model.isHolding, model.holderIsWriter = false, false
				held := model.heldPushes
				model.heldPushes = nil
				for _, p := range held {
					model.queuePush(p)
				}
			},
			"drop held": func(*rapid.T) {
				o.dropHeld("a")
				model.heldPushes = slices.DeleteFunc(model.heldPushes, func(p heldPush) bool { return p.tag == "a" })
			},
			"take a batch": func(t *rapid.T) {
				if !model.hasWriter || model.holderIsWriter {
					t.Skip("no writer")
				}
				got := o.takeBatch()
				if len(got) != len(model.queue) {
					t.Fatalf("%d frames taken, want %d", len(got), len(model.queue))
				}
				for i, p := range model.queue {
					if !bytes.Equal(got[i], p.frame) {
						t.Fatalf("frame %d of %d differs", i, len(got))
					}
				}
				model.hasWriter = len(model.queue) > 0
				model.queue = nil
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") > 0 {
					t.Skip("not now")
				}
				o.close()
				model.close()
			},
			"": func(t *rapid.T) {
				if writerStarts != model.writerStarts || overflows != model.overflows || o.closed != model.closed || o.hasWriter != model.hasWriter {
					t.Fatalf("woken %d, full %d, closed %v, writing %v; want %d, %d, %v, %v",
						writerStarts, overflows, o.closed, o.hasWriter, model.writerStarts, model.overflows, model.closed, model.hasWriter)
				}
				if o.bytes != model.byteCount() {
					t.Fatalf("the outbox counts %d bytes; %d are queued or held", o.bytes, model.byteCount())
				}
			},
		})
	})
}

// recordingOutbox is an outbox whose writer records the frames.
type recordingOutbox struct {
	outbox
	mu         sync.Mutex
	written    [][]byte
	writeDelay time.Duration // before each batch is recorded
}

func newRecordingOutbox(delay time.Duration) *recordingOutbox {
	o := &recordingOutbox{writeDelay: delay}
	o.init(func() { go o.write() }, func() {})
	return o
}

func (o *recordingOutbox) write() {
	for batch := o.takeBatch(); batch != nil; batch = o.takeBatch() {
		time.Sleep(o.writeDelay)
		o.mu.Lock()
		o.written = append(o.written, batch...)
		o.mu.Unlock()
	}
}

// releaseAndWrite calls release, and writes if release returns true.
func (o *recordingOutbox) releaseAndWrite() {
	if o.release() {
		o.write()
	}
}

func (o *recordingOutbox) writtenFrames() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written
}

// With concurrent callers of push, the frames of each arrive once and in order.
func TestOutboxKeepsOrderOfConcurrentPushes(t *testing.T) {
	t.Parallel()
	outbox := newRecordingOutbox(0)
	const pushers, framesPerPusher = 4, 100 // below the limit of frames, however slow the writer is
	var pushing sync.WaitGroup
	for pusher := range pushers {
		pushing.Go(func() {
			for i := range framesPerPusher {
				outbox.push("m", []byte{byte(pusher), byte(i)})
			}
		})
	}
	for range 20 {
		outbox.hold()
		outbox.releaseAndWrite()
	}
	pushing.Wait()
	outbox.flush()
	var next [pushers]byte
	for _, f := range outbox.writtenFrames() {
		if f[1] != next[f[0]] {
			t.Fatalf("pusher %d: frame %d instead of %d", f[0], f[1], next[f[0]])
		}
		next[f[0]]++
	}
	if next != [pushers]byte{framesPerPusher, framesPerPusher, framesPerPusher, framesPerPusher} {
		t.Errorf("frames written per pusher: %v", next)
	}
}

// A flush waits for the reply that is being prepared, for held pushes and for the writer.
// Frames that come later are dropped.
func TestFlushWaitsForAllFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outbox := newRecordingOutbox(time.Second)
		outbox.hold()
		outbox.push("m", []byte("push"))
		var flushed atomic.Bool
		go func() {
			outbox.flush()
			flushed.Store(true)
		}()
		synctest.Wait()
		outbox.reply([]byte("reply"))
		go outbox.releaseAndWrite()
		synctest.Wait()
		if flushed.Load() {
			t.Fatal("flushed before it was written")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		outbox.push("m", []byte("late"))
		outbox.reply([]byte("late"))
		time.Sleep(3 * time.Second)
		if got := bytes.Join(outbox.writtenFrames(), []byte(",")); !flushed.Load() || string(got) != "reply,push" {
			t.Errorf("flushed %v, written %q", flushed.Load(), got)
		}
	})
}

// Closing drops all frames and ends a flush immediately. waitForWriterEnd waits for the writer.
func TestClosedOutboxDropsFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outbox := newRecordingOutbox(time.Second)
		outbox.push("m", []byte("first"))
		synctest.Wait() // the writer is writing it
		outbox.push("m", []byte("second"))
		startedAt := time.Now()
		go func() {
			time.Sleep(100 * time.Millisecond)
			outbox.close()
		}()
		outbox.flush()
		if elapsed := time.Since(startedAt); elapsed != 100*time.Millisecond {
			t.Errorf("flush took %v", elapsed)
		}
		outbox.waitForWriterEnd()
		if elapsed := time.Since(startedAt); elapsed != time.Second {
			t.Errorf("waitForWriterEnd took %v", elapsed)
		}
		if got := bytes.Join(outbox.writtenFrames(), []byte(",")); string(got) != "first" {
			t.Errorf("written %q", got)
		}
	})
}
