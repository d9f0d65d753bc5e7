package redisx

import (
	"net"
	"os"
	"syscall"
)

// socketPair is a connection within the process that, unlike net.Pipe, has
// buffers, and that nobody else can reach.
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

// fileConn takes the descriptor over: the connection has a copy of it.
func fileConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "redis")
	defer f.Close()
	return net.FileConn(f)
}
