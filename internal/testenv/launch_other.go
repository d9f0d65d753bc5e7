//go:build !linux

package testenv

import (
	"os/exec"
	"syscall"
)

// dieWithUs can promise nothing here: a test binary that is killed leaves its
// servers behind.
func dieWithUs(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setpgid: true}
}

func launch(cmd *exec.Cmd) error { return cmd.Start() }
