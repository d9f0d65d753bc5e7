package testenv

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// killWithParent makes the kernel kill the process when the thread that started it ends. The
// kernel clears this setting at a change of user, so Go sets it afterwards.
func killWithParent(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: user, Setpgid: true}
}

// processStarter returns the channel of a goroutine that runs functions on one thread, which lives
// as long as the test binary. That thread starts all processes. If another thread started a
// server, the server would die when the Go runtime ends that thread.
var processStarter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	onExit(func() error { close(work); return nil }) // runs last, because functions run in reverse order
	return work
})

// launch starts the command. The process ends when the test binary ends, even if that is
// killed.
func launch(cmd *exec.Cmd) error {
	result := make(chan error)
	processStarter() <- func() { result <- cmd.Start() }
	return <-result
}
