package redisx

import (
	"net"
	"os"
	"syscall"
)

// socketPair returns both ends of a connection within the process. Unlike net.Pipe it
// has buffers. Other processes cannot reach it.
func socketPair() (ours, theirs net.Conn, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ours, errOurs := fileConn(fds[0])
	theirs, errTheirs := fileConn(fds[1])
	if errOurs == nil && errTheirs == nil {
		return ours, theirs, nil
	}
	if errOurs == nil {
		_ = ours.Close()
		return nil, nil, errTheirs
	}
	if errTheirs == nil {
		_ = theirs.Close()
	}
	return nil, nil, errOurs
}

// fileConn makes a connection of a descriptor. The connection has a copy of the
// descriptor; the original is closed.
func fileConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "redis")
	defer f.Close()
	return net.FileConn(f)
}
