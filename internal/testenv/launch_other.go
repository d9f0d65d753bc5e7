//go:build !linux

package testenv

import (
	"os/exec"
	"syscall"
)

// killWithParent does nothing here. If a test binary is killed, its servers keep running.
func killWithParent(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setpgid: true}
}

func launch(cmd *exec.Cmd) error { return cmd.Start() }
