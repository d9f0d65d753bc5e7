//go:build unix

package main

import "syscall"

// allowedFiles returns how many files the process may have open at once. Go raises the limit
// at the start as far as it may without privileges (package os, since Go 1.19).
func allowedFiles() (allowed uint64, known bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err == nil //nolint:unconvert // Cur is signed on some systems
}
