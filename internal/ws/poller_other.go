//go:build !linux

package ws

import (
	"errors"
	"syscall"
)

// canPoll is false where each session keeps a goroutine that waits.
const canPoll = false

type poller struct{}

func newPoller() (*poller, error) { return nil, errors.ErrUnsupported }

func (*poller) arm(syscall.RawConn, uint64) error { return errors.ErrUnsupported }
func (*poller) run(func([]uint64), func(*poller)) {}
func (*poller) close()                            {}
