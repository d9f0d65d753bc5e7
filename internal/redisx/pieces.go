package redisx

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// maxPiece is what fits in the buffers of a socket pair on any system (Linux
// gives 208 KiB, macOS 8 KiB and grows), in bytes of arguments.
const maxPiece = 64 << 10

// ErrTransactionSize is wrapped by the error of a transaction on the embedded
// Redis whose commands do not fit its connection. Nothing of it has run.
var ErrTransactionSize = errors.New("transaction too large for the embedded Redis")

// pieces cuts long pipelines. The client writes a whole pipeline before it
// reads, the embedded server answers before it reads on: a pipeline that does
// not fit between them would stall both until the time-out. A pipeline may be
// cut anywhere, a transaction nowhere.
type pieces struct{}

func (pieces) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (pieces) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (pieces) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		first := fitting(cmds)
		if first == len(cmds) {
			return next(ctx, cmds)
		}
		if cmds[0].Name() == "multi" {
			err := fmt.Errorf("%w: over %d bytes in %d commands", ErrTransactionSize, maxPiece, len(cmds))
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return inPieces(ctx, next, cmds)
	}
}

// inPieces runs all pieces, whatever becomes of one, and returns the first
// error, as a pipeline does with its commands.
func inPieces(ctx context.Context, next redis.ProcessPipelineHook, cmds []redis.Cmder) error {
	var first error
	for len(cmds) > 0 {
		n := fitting(cmds)
		if err := next(ctx, cmds[:n]); err != nil && first == nil {
			first = err
		}
		cmds = cmds[n:]
	}
	return first
}

// fitting is how many of the commands make one piece: at least one, since a
// single command is read whole before it is answered.
func fitting(cmds []redis.Cmder) int {
	size := 0
	for i, cmd := range cmds {
		size += sizeOf(cmd)
		if i > 0 && size > maxPiece {
			return i
		}
	}
	return len(cmds)
}

// sizeOf is about the length of a command on the wire.
func sizeOf(cmd redis.Cmder) int {
	size := 0
	for _, arg := range cmd.Args() {
		size += 16 // its length and line ends
		switch arg := arg.(type) {
		case string:
			size += len(arg)
		case []byte:
			size += len(arg)
		default:
			size += 32 // numbers, times and the like
		}
	}
	return size
}
