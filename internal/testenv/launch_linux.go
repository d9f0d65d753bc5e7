package testenv

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// dieWithUs has the kernel kill the process when the thread that started it
// ends. It is set after the change of user, which would clear it.
func dieWithUs(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: user, Setpgid: true}
}

// starter is one goroutine that keeps a thread of its own for as long as the
// test binary lives. Everything is started by that thread: started by an
// ordinary one, a server would die whenever the runtime lets that thread go.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	atEnd(func() error { close(work); return nil }) // the last of all: servers are told of later
	return work
})

// launch starts the command so that it ends with the test binary, however that ends.
func launch(cmd *exec.Cmd) error {
	result := make(chan error)
	starter() <- func() { result <- cmd.Start() }
	return <-result
}
