package ledger

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// process is a test of this binary that runs in a separate process.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	read chan struct{} // closed after all output was handled
}

// begin runs a test in a separate process with a database, and calls take for each line
// that it prints.
func begin(t *testing.T, test, name string, db testenv.SQL, take func(line string)) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$"), read: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), handName+"="+name, handURL+"="+db.URL, handDir+"="+db.Dir)
	out := must(p.cmd.StdoutPipe())(t)
	p.in = must(p.cmd.StdinPipe())(t)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go func() { // ends with the process, which kill waits for
		defer close(p.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			take(lines.Text())
		}
	}()
	return p
}

// kill kills the process if it has not ended, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.read
	_ = p.cmd.Wait()
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// killTest runs processes that use one queue, and kills them at random times.
type killTest struct {
	t            *testing.T
	db           testenv.SQL
	docket       *docket
	processCount int
}

// runWith starts two processes, lets befall disturb them, and kills them.
func (s *killTest) runWith(befall func(processes [2]*process)) {
	s.t.Helper()
	var processes [2]*process
	for i := range processes {
		s.processCount++
		processes[i] = begin(s.t, "TestQueueProcess", fmt.Sprint("h", s.processCount), s.db, s.docket.take)
	}
	s.await(50 + rand.IntN(150))
	befall(processes)
	for _, h := range processes {
		h.kill()
	}
}

// await waits until the processes have printed some more lines.
func (s *killTest) await(more int) {
	s.t.Helper()
	_, begun, _ := s.docket.reported()
	until(s.t, func() bool {
		ready, lines, wrong := s.docket.reported()
		return ready == s.processCount && lines >= begun+more || wrong
	})
}

// settle completes the remaining tasks, and checks that none was lost or completed twice.
func (s *killTest) settle() {
	s.t.Helper()
	h := &queueProcess{s.t, openOn(s.t, s.db), "last", s.docket.take}
	empty := func() bool {
		for _, state := range []taskqueue.State{taskqueue.Claimed, taskqueue.Later, taskqueue.Waiting} { // as the keeper moves them
			if many, _, err := h.l.Depth(s.t.Context(), state, 1); many > 0 || err != nil {
				return false
			}
		}
		return true
	}
	var worked atomic.Bool
	atOnceN(2, func(i int) {
		if i == 0 {
			defer worked.Store(true)
			h.work(empty)
		} else {
			h.keep(worked.Load)
		}
	})
	s.docket.check(s.t, h.l)
}

// Processes are killed while they enqueue, claim and complete. No acknowledged task is
// lost, and none is completed twice.
func TestKilledProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		s := &killTest{t: t, db: db, docket: newDocket()}
		for range queueRounds(3) {
			s.runWith(func([2]*process) {})
		}
		s.settle()
	})
}

// The same holds if PostgreSQL is killed, and one process is stopped for longer than its
// leases.
func TestKilledPostgresLosesNothing(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	s := &killTest{t: t, db: testenv.SQL{URL: server.URL}, docket: newDocket()}
	for range queueRounds(2) {
		s.runWith(func(processes [2]*process) {
			processes[0].signal(syscall.SIGSTOP)
			server.Kill()
			server.Restart()
			s.await(40)                 // the other's
			<-time.After(2 * handLease) // the leases of the one that is stopped end
			processes[0].signal(syscall.SIGCONT)
			s.await(40)
		})
	}
	s.settle()
}

// TestQueueSleeper is the process that TestAStoppedWorkerWithoutLeaseChangesNothing
// stops. It claims a task. When it is told to, it tries to end the attempt in each way.
func TestQueueSleeper(t *testing.T) {
	if os.Getenv(handName) == "" {
		return
	}
	l := openOn(t, testenv.SQL{URL: os.Getenv(handURL), Dir: os.Getenv(handDir)})
	tasks := must(l.Claim(t.Context(), kind, 1, handLease))(t)
	fmt.Println(word("claimed", &tasks[0]))
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return
	}
	leases := leasesOf(tasks)
	for _, end := range []func() ([]taskqueue.Lease, error){
		func() ([]taskqueue.Lease, error) { return l.Renew(t.Context(), leases, time.Hour) },
		func() ([]taskqueue.Lease, error) { return l.Complete(t.Context(), leases) },
		func() ([]taskqueue.Lease, error) { return l.Return(t.Context(), leases) },
		func() ([]taskqueue.Lease, error) { return l.Fail(t.Context(), failures(leases, 0, true)) },
	} {
		fmt.Println("lost", len(must(end())(t)))
	}
}

// A worker's process is stopped for longer than its lease. When it continues, it changes
// nothing, whatever happened to the task.
func TestStoppedWorkerChangesNothing(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openOn(t, db)
		must(l.Enqueue(t.Context(), []taskqueue.NewTask{work("a", "k")}))(t)
		lines := make(chan string, 10) // more than it says
		sleeper := begin(t, "TestQueueSleeper", "sleeper", db, func(line string) { lines <- line })
		select {
		case line := <-lines:
			if line != "claimed k 1" {
				t.Fatal(line)
			}
		case <-sleeper.read:
			t.Fatal("it claimed nothing")
		}
		sleeper.signal(syscall.SIGSTOP)
		until(t, func() bool { return must(l.ReturnDue(t.Context(), 1))(t).Back == 1 })
		tasks := must(l.Claim(t.Context(), kind, 10, time.Hour))(t)
		if len(tasks) != 1 || tasks[0].Fence != 2 {
			t.Fatalf("claimed %+v", tasks)
		}
		if _, err := io.WriteString(sleeper.in, "go on\n"); err != nil {
			t.Fatal(err)
		}
		sleeper.signal(syscall.SIGCONT)
		<-sleeper.read
		for range 4 {
			if line := <-lines; line != "lost 1" {
				t.Error(line)
			}
		}
		if got := must(l.Task(t.Context(), tasks[0].ID))(t); !reflect.DeepEqual(got, tasks[0]) {
			t.Errorf("it made %+v of %+v", got, tasks[0])
		}
		if lost := must(l.Complete(t.Context(), leasesOf(tasks)))(t); len(lost) > 0 {
			t.Error("the newest lease was not held")
		}
	})
}
