//go:build !linux

package ws

import (
	"errors"
	"syscall"
)

// canPoll is false: on this system no session can be parked, and each keeps a goroutine.
const canPoll = false

type poller struct{}

func newPoller() (*poller, error) { return nil, errors.ErrUnsupported }

func (*poller) requestEvent(syscall.RawConn, uint64) error { return errors.ErrUnsupported }
func (*poller) run(func([]uint64), func(*poller))          {}
func (*poller) close()                                     {}
