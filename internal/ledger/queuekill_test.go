package ledger

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
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

// startProcess runs a test in a separate process with a database, and calls take for each line
// that it prints.
func startProcess(t *testing.T, test, name string, db testenv.SQL, take func(line string)) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$"), read: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), processNameEnv+"="+name, processURLEnv+"="+db.URL, processDirEnv+"="+db.Dir)
	out := testenv.Need(p.cmd.StdoutPipe())(t)
	p.in = testenv.Need(p.cmd.StdinPipe())(t)
	testenv.NoError(t, p.cmd.Start())
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
	testenv.NoError(p.t, p.cmd.Process.Signal(sig))
}

// killTest runs processes that use one queue, and kills them at random times.
type killTest struct {
	t            *testing.T
	db           testenv.SQL
	docket       *processReports
	processCount int
}

// runWithFault starts two processes, lets befall disturb them, and kills them.
func (s *killTest) runWithFault(befall func(processes [2]*process)) {
	s.t.Helper()
	var processes [2]*process
	for i := range processes {
		s.processCount++
		processes[i] = startProcess(s.t, "TestQueueProcess", fmt.Sprint("h", s.processCount), s.db, s.docket.addLine)
	}
	s.awaitReports(50 + rand.IntN(150))
	befall(processes)
	for _, h := range processes {
		h.kill()
	}
}

// awaitReports waits until the processes have printed some more lines.
func (s *killTest) awaitReports(more int) {
	s.t.Helper()
	_, begun, _ := s.docket.reported()
	waitUntil(s.t, func() bool {
		ready, lines, wrong := s.docket.reported()
		return ready == s.processCount && lines >= begun+more || wrong
	})
}

// finishTasks completes the remaining tasks, and checks that none was lost or completed twice.
func (s *killTest) finishTasks() {
	s.t.Helper()
	h := &queueProcess{s.t, openLedger(s.t, s.db), "last", s.docket.addLine}
	empty := func() bool {
		for _, state := range []taskqueue.State{taskqueue.StateClaimed, taskqueue.StateLater, taskqueue.StateWaiting} { // as the keeper moves them
			if many, _, err := h.ledger.Maintenance.Depth(s.t.Context(), state, 1); many > 0 || err != nil {
				return false
			}
		}
		return true
	}
	var worked atomic.Bool
	runConcurrently(2, func(i int) {
		if i == 0 {
			defer worked.Store(true)
			h.work(empty)
		} else {
			h.maintain(worked.Load)
		}
	})
	s.docket.check(s.t, h.ledger)
}

// Processes are killed while they enqueue, claim and complete. No acknowledged task is
// lost, and none is completed twice.
func TestKilledProcessesLoseNoTask(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		s := &killTest{t: t, db: db, docket: newProcessReports()}
		for range queueRounds(3) {
			s.runWithFault(func([2]*process) {})
		}
		s.finishTasks()
	})
}

// The same holds if PostgreSQL is killed, and one process is stopped for longer than its
// leases.
func TestAKilledPostgresLosesNoTask(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	s := &killTest{t: t, db: testenv.SQL{URL: server.URL}, docket: newProcessReports()}
	for range queueRounds(2) {
		s.runWithFault(func(processes [2]*process) {
			processes[0].signal(syscall.SIGSTOP)
			server.Kill()
			server.Restart()
			s.awaitReports(40)             // the other's
			<-time.After(2 * processLease) // the leases of the one that is stopped end
			processes[0].signal(syscall.SIGCONT)
			s.awaitReports(40)
		})
	}
	s.finishTasks()
}
