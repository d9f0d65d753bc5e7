package testenv

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// dieWithUs makes the kernel kill the process when the thread that started it ends. The
// kernel clears this setting at a change of user, so Go sets it afterwards.
func dieWithUs(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: user, Setpgid: true}
}

// starter is one goroutine that keeps its own thread as long as the test binary lives. That
// thread starts all processes. If an ordinary thread started a server, the server would die
// when the runtime ends that thread.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	atEnd(func() error { close(work); return nil }) // runs last, because later registrations stop first
	return work
})

// launch starts the command so that it ends with the test binary, however that ends.
func launch(cmd *exec.Cmd) error {
	result := make(chan error)
	starter() <- func() { result <- cmd.Start() }
	return <-result
}
