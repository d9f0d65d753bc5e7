//go:build unix

package main

import "syscall"

// allowedFiles returns the maximum number of open files of the process. When a program starts,
// Go raises the limit as far as possible without privileges (package os, since Go 1.19).
func allowedFiles() (allowed uint64, known bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err == nil //nolint:unconvert // Cur is signed on some systems
}
