//go:build unix

package main

import "syscall"

// allowedFiles is how many files the process may have open at once. Go raises what
// it starts with as far as that goes without privileges (os, since 1.19).
func allowedFiles() (allowed uint64, known bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err == nil //nolint:unconvert // it is signed on some systems
}
