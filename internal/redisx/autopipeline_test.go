package redisx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The pipeline does not delay a script to wait for more scripts, neither while another script
// runs nor after scripts that ran together. In a synctest bubble time passes only during waits.
func TestPipelinedScriptsAreNotDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &slowServer{release: make(chan struct{})}
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", Protocol: 2, DisableIdentity: true, Dialer: server.connect,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		pipelined, err := newAutopipeline(client)
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		run := func() {
			if err := pipelined.EvalSha(t.Context(), "sha", nil).Err(); err != nil {
				t.Error(err)
			}
		}
		for range 4 { // the first waits for its reply, the others for the first
			callers.Go(run)
			synctest.Wait()
		}
		startedAt := time.Now()
		close(server.release)
		callers.Wait()
		run()
		if waited := time.Since(startedAt); waited > time.Microsecond {
			t.Errorf("the scripts were delayed by %v", waited)
		}
		if err := pipelined.queue.Close(); err != nil {
			t.Error(err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		server.served.Wait()
	})
}

// A script that no other one waits beside runs in the goroutine of its caller. A further script
// waits in the queue.
func TestLoneScriptNeedsNoQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &slowServer{release: make(chan struct{})}
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", Protocol: 2, DisableIdentity: true, Dialer: server.connect,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		hook := new(callerHook)
		client.AddHook(hook)
		pipelined, err := newAutopipeline(client)
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				if err := pipelined.EvalSha(context.WithValue(t.Context(), callerKey{}, true), "sha", nil).Err(); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			if n := hook.direct.Load(); n != 1 {
				t.Errorf("%d scripts were sent by their callers, want the first", n)
			}
		}
		close(server.release)
		callers.Wait()
		if err := errors.Join(pipelined.queue.Close(), client.Close()); err != nil {
			t.Error(err)
		}
		server.served.Wait()
	})
}

// callerHook counts the scripts whose callers send them: these have the caller's context.
type callerHook struct{ direct atomic.Int64 }

type callerKey struct{}

func (h *callerHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *callerHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && ctx.Value(callerKey{}) != nil {
			h.direct.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (h *callerHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// slowServer is a fake Redis. It answers scripts only after release is closed.
type slowServer struct {
	release chan struct{}
	served  sync.WaitGroup // its connections
}

func (s *slowServer) connect(context.Context, string, string) (net.Conn, error) {
	clientEnd, serverEnd := net.Pipe()
	s.served.Go(func() { s.serve(serverEnd) })
	return clientEnd, nil
}

func (s *slowServer) serve(conn net.Conn) {
	defer conn.Close()
	for reader := bufio.NewReader(conn); ; {
		name, err := readCommand(reader)
		if err != nil {
			return
		}
		reply := "+OK\r\n"
		switch name {
		case "hello":
			reply = "-ERR unknown command\r\n"
		case "evalsha":
			<-s.release
			reply = ":1\r\n"
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// readCommand reads a command and returns its name.
func readCommand(reader *bufio.Reader) (name string, err error) {
	var argumentCount, size int
	if _, err := fmt.Fscanf(reader, "*%d\r\n", &argumentCount); err != nil {
		return "", err
	}
	for i := range argumentCount {
		if _, err := fmt.Fscanf(reader, "$%d\r\n", &size); err != nil {
			return "", err
		}
		argument := make([]byte, size+2)
		if _, err := io.ReadFull(reader, argument); err != nil {
			return "", err
		}
		if i == 0 {
			name = string(argument[:size])
		}
	}
	return name, nil
}
