package ledger

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// replyFate says what happens to a commit on its way to the database, or to its reply.
type replyFate int32

const (
	arrives replyFate = iota
	cutBefore
	cutAfter   // the commit is done, and its reply is lost with the connection
	hangsAfter // the commit is done, and its reply never arrives
)

// cuttingProxy is a proxy in front of PostgreSQL that disturbs one commit.
type cuttingProxy struct {
	to      string
	next    atomic.Int32                       // the fate of the next commit
	hung    atomic.Pointer[context.CancelFunc] // called when the proxy holds back a reply
	ctx     context.Context
	running sync.WaitGroup
}

// newCuttingProxy starts a proxy, and returns it with the database's URL through it.
func newCuttingProxy(t *testing.T, db testenv.SQL) (*cuttingProxy, string) {
	t.Helper()
	u := testenv.Need(url.Parse(db.URL))(t)
	l := testenv.Need(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	c := &cuttingProxy{to: u.Host, ctx: ctx}
	c.running.Go(func() { c.accept(l) })
	t.Cleanup(func() {
		end()
		_ = l.Close()
		c.running.Wait()
	})
	u.Host = l.Addr().String()
	return c, u.String()
}

func (c *cuttingProxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(c.ctx, "tcp", c.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		w := &proxyConn{c: c, client: client, server: server.(*net.TCPConn), ended: make(chan struct{})}
		stop := context.AfterFunc(c.ctx, w.cut)
		c.running.Go(func() {
			defer stop()
			w.copyRequests()
		})
		c.running.Go(w.copyReplies)
	}
}

// proxyConn is one connection of a client to the server through the proxy.
type proxyConn struct {
	c      *cuttingProxy
	client net.Conn
	server *net.TCPConn
	fate   atomic.Int32  // of the next reply
	ended  chan struct{} // closed after the last byte from the server
}

func (c *proxyConn) cut() {
	_ = c.client.Close()
	_ = c.server.Close()
}

// copyRequests copies bytes from the client to the server, except a commit that must not arrive.
// Then it closes the client's connection after the server has rolled back the transaction
// and released its locks. Otherwise a claim would skip the locked rows.
func (c *proxyConn) copyRequests() {
	defer c.cut()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("commit\x00")) {
			c.fate.Store(c.c.next.Swap(int32(arrives)))
		}
		if replyFate(c.fate.Load()) == cutBefore {
			_ = c.server.CloseWrite()
			<-c.ended
			return
		}
		if _, err := c.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// copyReplies copies bytes from the server to the client, except a reply that must not arrive.
func (c *proxyConn) copyReplies() {
	defer close(c.ended)
	defer c.cut()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buf)
		switch replyFate(c.fate.Load()) {
		case cutAfter:
			return
		case hangsAfter:
			(*c.c.hung.Load())()
			_, _ = io.Copy(io.Discard, c.server) // until the client closes the connection
			return
		case arrives, cutBefore:
		}
		if err != nil {
			return
		}
		if _, err := c.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cutCall is a call of the queue that brings a task from one state to another; "" means
// that there is no task.
type cutCall struct {
	bring   func(q *queueFixture, task taskqueue.NewTask) taskqueue.Task // brings the task to the state before the call
	was, is taskqueue.State
	rings   bool
	do      func(ctx context.Context, l *Ledger, task taskqueue.NewTask, t *taskqueue.Task) (did int, err error)
	twice   int // result of a repeated call if the first one succeeded
}

func (q *queueFixture) claimOf(task taskqueue.NewTask) taskqueue.Task {
	q.t.Helper()
	q.enqueue(task)
	return testenv.Need(q.Claims.Claim(q.t.Context(), taskqueue.Kind(task.Topic), 1, lease))(q.t)[0]
}

func heldOne(lost []taskqueue.Lease, err error) (int, error) { return 1 - len(lost), err }

var cutCalls = map[string]cutCall{
	"enqueue": {
		bring: func(*queueFixture, taskqueue.NewTask) taskqueue.Task { return taskqueue.Task{} },
		is:    taskqueue.StateWaiting, rings: true,
		do: func(ctx context.Context, l *Ledger, task taskqueue.NewTask, _ *taskqueue.Task) (int, error) {
			accepted, err := l.Tasks.Enqueue(ctx, []taskqueue.NewTask{task})
			if err != nil {
				return 0, err
			}
			if accepted[0].New {
				return 1, nil
			}
			return 0, nil
		},
	},
	"claim": {
		bring: func(q *queueFixture, task taskqueue.NewTask) taskqueue.Task {
			return taskqueue.Task{ID: q.enqueue(task)[0].ID}
		},
		was: taskqueue.StateWaiting, is: taskqueue.StateClaimed,
		do: func(ctx context.Context, l *Ledger, task taskqueue.NewTask, _ *taskqueue.Task) (int, error) {
			tasks, err := l.Claims.Claim(ctx, taskqueue.Kind(task.Topic), 10, lease)
			return len(tasks), err
		},
	},
	"renew": {
		bring: (*queueFixture).claimOf, was: taskqueue.StateClaimed, is: taskqueue.StateClaimed, twice: 1,
		do: func(ctx context.Context, l *Ledger, _ taskqueue.NewTask, t *taskqueue.Task) (int, error) {
			return heldOne(l.Claims.Renew(ctx, []taskqueue.Lease{t.Lease()}, lease))
		},
	},
	"complete": {
		bring: (*queueFixture).claimOf, was: taskqueue.StateClaimed, is: taskqueue.StateDone, twice: 1,
		do: func(ctx context.Context, l *Ledger, _ taskqueue.NewTask, t *taskqueue.Task) (int, error) {
			return heldOne(l.Claims.Complete(ctx, []taskqueue.Lease{t.Lease()}))
		},
	},
	"fail": {
		bring: (*queueFixture).claimOf, was: taskqueue.StateClaimed, is: taskqueue.StateLater,
		do: func(ctx context.Context, l *Ledger, _ taskqueue.NewTask, t *taskqueue.Task) (int, error) {
			return heldOne(l.Claims.Fail(ctx, failures([]taskqueue.Lease{t.Lease()}, time.Second, false)))
		},
	},
	"return": {
		bring: (*queueFixture).claimOf, was: taskqueue.StateClaimed, is: taskqueue.StateWaiting, rings: true,
		do: func(ctx context.Context, l *Ledger, _ taskqueue.NewTask, t *taskqueue.Task) (int, error) {
			return heldOne(returnTasks(ctx, l.Claims, []taskqueue.Lease{t.Lease()}))
		},
	},
	"discard": {
		bring: (*queueFixture).claimOf, was: taskqueue.StateClaimed, is: taskqueue.StateDiscarded, twice: 1,
		do: func(ctx context.Context, l *Ledger, _ taskqueue.NewTask, t *taskqueue.Task) (int, error) {
			_, err := l.Tasks.ChangeTask(ctx, t.ID, (*taskqueue.Task).Discard)
			return 1, err
		},
	},
	"return due": {
		bring: func(q *queueFixture, task taskqueue.NewTask) taskqueue.Task {
			defer q.advanceClock(lease)
			return q.claimOf(task)
		},
		was: taskqueue.StateClaimed, is: taskqueue.StateWaiting, rings: true,
		do: func(ctx context.Context, l *Ledger, _ taskqueue.NewTask, _ *taskqueue.Task) (int, error) {
			r, err := l.Maintenance.ReturnDue(ctx, 10)
			return r.Requeued, err
		},
	},
}

// If the reply of a commit is lost, its outcome is unknown. In both cases nothing is half
// done. A repeated call does the rest, and a worker that waits for the task is notified.
func TestALostReplyOfACommitLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	for name, befalls := range map[string]replyFate{"cut before": cutBefore, "cut after": cutAfter, "hangs after": hangsAfter} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testenv.Database(t)
			q := &queueFixture{clockLedger: openWithClock(t, db, time.UTC), t: t, db: db, now: 1_000_000}
			q.setClock(t, q.now)
			c, through := newCuttingProxy(t, db)
			rung := 0
			l := openConfig(t, Config{URL: through, clockSQL: testClock, NotifyTopic: func(string) { rung++ }})
			for name, call := range cutCalls {
				rung = 0
				if fault := call.try(q, l, c, befalls); fault != "" {
					t.Errorf("%s: %s", name, fault)
				}
				if call.rings && rung == 0 {
					t.Errorf("%s: no worker is notified", name)
				}
				for _, table := range []string{"tasks", "queues"} {
					testenv.Need(q.exec(t.Context(), "DELETE FROM "+table))(t)
				}
			}
		})
	}
}

// try makes the call, whose reply is lost, and then repeats it.
func (call *cutCall) try(q *queueFixture, l *Ledger, c *cuttingProxy, befalls replyFate) (fault string) {
	q.t.Helper()
	task := newTask("a", "k")
	t := call.bring(q, task)
	ctx, cancel := context.WithCancel(q.t.Context())
	defer cancel()
	c.hung.Store(&cancel)
	c.next.Store(int32(befalls))
	if _, err := call.do(ctx, l, task, &t); !IsUnavailable(err) {
		return fmt.Sprintf("without an answer: %v", err)
	}
	want, did := call.is, call.twice
	if befalls == cutBefore {
		want, did = call.was, 1
	}
	if got := q.onlyTaskState(); got != want {
		return fmt.Sprintf("it is %q, want %q", got, want)
	}
	if again, err := call.do(q.t.Context(), l, task, &t); again != did || err != nil {
		return fmt.Sprintf("once more it did %d, %v, want %d", again, err, did)
	}
	if got := q.onlyTaskState(); got != call.is {
		return fmt.Sprintf("once more it is %q, want %q", got, call.is)
	}
	return ""
}

// onlyTaskState returns the state of the only task, "" if there is none.
func (q *queueFixture) onlyTaskState() taskqueue.State {
	q.t.Helper()
	tasks, _, err := q.Tasks.Tasks(q.t.Context(), taskqueue.Filter{}, "", 10)
	if err != nil || len(tasks) > 1 {
		q.t.Fatalf("tasks %+v, %v", tasks, err)
	}
	if len(tasks) == 0 {
		return ""
	}
	return tasks[0].State
}
