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

	"laststand/internal/cli"
	"laststand/internal/config"
	"laststand/internal/testenv"
)

// actAsVariable is the environment variable that makes this test binary the server's command line, in
// its own process. For "command" the binary only runs the command line. For "server" it also
// ends when its standard input is closed, which happens when the test process ends.
const actAsVariable = "LASTSTAND_TEST_ACT_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(actAsVariable) {
	case "server":
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(70)
		}()
		os.Exit(cli.Program{Serve: serveBusily, Build: buildLine()}.Run(os.Args[1:], cli.Output{Stdout: os.Stdout, Stderr: os.Stderr}))
	case "command":
		main()
	}
	testenv.AllowMoreTests()
	testenv.Main(m)
}

// serveBusily serves without a limit of the scheduler's delay, because the tests share the processors.
func serveBusily(c config.Config, output cli.Output) error {
	c.Limits.MaxSchedulerLagMS = 0
	return serveUntilSignal(c, output)
}

// command runs a command line in this process.
func command(args ...string) (code int, out, stderr string) {
	var stdoutBuffer, stderrBuffer bytes.Buffer
	code = run(args, cli.Output{Stdout: &stdoutBuffer, Stderr: &stderrBuffer})
	return code, stdoutBuffer.String(), stderrBuffer.String()
}

// commandIn runs a command line in a process with its own environment.
func commandIn(t *testing.T, env []string, args ...string) (code int, out, stderr string) {
	t.Helper()
	var stdoutBuffer, stderrBuffer bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), actAsVariable+"=command"), env...)
	cmd.Stdout, cmd.Stderr = &stdoutBuffer, &stderrBuffer
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdoutBuffer.String(), stderrBuffer.String()
}

// nodeProcess is a node in its own process, for signals and kills, which a test cannot send to
// itself.
type nodeProcess struct {
	url, opsURL string
	log         *logBuffer
	cmd         *exec.Cmd
	exited      chan struct{}
}

// startProcess starts a node on free ports that ends with the test.
func startProcess(t *testing.T, args ...string) *nodeProcess {
	t.Helper()
	return startProcessWith(t, nil, args...)
}

// startProcessWith is startProcess with additional environment variables.
func startProcessWith(t *testing.T, env []string, args ...string) *nodeProcess {
	t.Helper()
	p := &nodeProcess{log: new(logBuffer), exited: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], append([]string{"--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0"}, args...)...)
	p.cmd.Env = append(append(os.Environ(), actAsVariable+"=server"), env...)
	p.cmd.Stderr = p.log
	stdin := testenv.Need(p.cmd.StdinPipe())(t)
	out := testenv.Need(p.cmd.StdoutPipe())(t)
	testenv.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		p.wait(t)
		_ = stdin.Close()
	})
	p.url, p.opsURL = readAddresses(t, out, p.log)
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	return p
}

// signal has no effect on a process that has ended.
func (p *nodeProcess) signal(s os.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
}

// wait returns the exit code, or -1 after a kill.
func (p *nodeProcess) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		t.Fatalf("the process did not end\n%s", p.log)
		return 0
	}
}
