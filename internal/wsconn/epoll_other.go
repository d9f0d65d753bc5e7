//go:build !linux

package wsconn

import (
	"errors"
	"syscall"
)

// epoll cannot be made: on this system no connection can be parked, and each keeps a goroutine.
type epoll struct{}

func newEpoll() (*epoll, error) { return nil, errors.ErrUnsupported }

func (*epoll) requestEvent(syscall.RawConn, uint64) error { return errors.ErrUnsupported }
func (*epoll) wait() ([]uint64, error)                    { return nil, errors.ErrUnsupported }

func (*epoll) close() {}
