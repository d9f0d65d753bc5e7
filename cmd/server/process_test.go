package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"laststand/internal/testenv"
)

// actAs is the environment variable that makes this test binary the server's command line, in
// its own process. For "command" the binary only runs the command line. For "server" it also
// ends when its standard input is closed, which happens when the test process ends.
const actAs = "LASTSTAND_TEST_ACT_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case "server":
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(70)
		}()
		main()
	case "command":
		main()
	}
	testenv.Main(m)
}

// command runs a command line in this process.
func command(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(args, console{out: &o, err: &e})
	return code, o.String(), e.String()
}

// commandIn runs a command line in a process with its own environment.
func commandIn(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), actAs+"=command"), env...)
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// process is a node in its own process, for signals and kills, which a test cannot send to
// itself.
type process struct {
	url, ops string
	log      *logBuffer
	cmd      *exec.Cmd
	ended    chan struct{}
}

// startProcess starts a node on free ports that ends with the test.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{log: new(logBuffer), ended: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], append([]string{"--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0"}, args...)...)
	p.cmd.Env = append(os.Environ(), actAs+"=server")
	p.cmd.Stderr = p.log
	held, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		p.wait(t)
		_ = held.Close()
	})
	p.url, p.ops = addresses(t, out, p.log)
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// signal has no effect on a process that has ended.
func (p *process) signal(s os.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
}

// wait returns the exit code, or -1 after a kill.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		t.Fatalf("the process did not end\n%s", p.log)
		return 0
	}
}
