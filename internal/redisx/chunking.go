package redisx

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// maxChunkBytes is how many bytes of arguments fit into the buffers of a socket pair on any
// system. The buffers have 208 KiB on Linux. On macOS they have 8 KiB and grow.
const maxChunkBytes = 64 << 10

// ErrTransactionSize means that a transaction does not fit into the buffers of the
// connection to the embedded Redis. None of its commands has run.
var ErrTransactionSize = errors.New("transaction too large for the embedded Redis")

// pipelineChunker is a hook that splits long pipelines. The client writes a whole pipeline
// before it reads a reply. The embedded server answers a command before it reads the next.
// A pipeline larger than the buffers would block both until the timeout. A pipeline may be
// split anywhere; a transaction must not be split.
type pipelineChunker struct{}

func (pipelineChunker) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (pipelineChunker) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (pipelineChunker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		first := chunkLen(cmds) // commands in the first chunk
		if first == len(cmds) {
			return next(ctx, cmds)
		}
		if cmds[0].Name() == "multi" {
			err := fmt.Errorf("%w: over %d bytes in %d commands", ErrTransactionSize, maxChunkBytes, len(cmds))
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return runChunks(ctx, next, cmds)
	}
}

// runChunks runs all chunks, even after an error, and returns the first error, as a
// pipeline does.
func runChunks(ctx context.Context, next redis.ProcessPipelineHook, cmds []redis.Cmder) error {
	var firstErr error
	for len(cmds) > 0 {
		n := chunkLen(cmds)
		if err := next(ctx, cmds[:n]); err != nil && firstErr == nil {
			firstErr = err
		}
		cmds = cmds[n:]
	}
	return firstErr
}

// chunkLen returns how many of the commands fit into one chunk: at least one, because
// the server reads a single command completely before it answers.
func chunkLen(cmds []redis.Cmder) int {
	size := 0
	for i, cmd := range cmds {
		size += commandSize(cmd)
		if i > 0 && size > maxChunkBytes {
			return i
		}
	}
	return len(cmds)
}

// commandSize returns the approximate length of a command on the wire.
func commandSize(cmd redis.Cmder) int {
	size := 0
	for _, arg := range cmd.Args() {
		size += 16 // length prefix and line ends
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
