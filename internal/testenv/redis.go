package testenv

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Redis starts an empty redis-server without persistence for this test alone. It skips the
// test if redis-server is not installed and not required.
func Redis(t testing.TB) *Server {
	t.Helper()
	requireRedis(t)
	return startRedisForTest(t)
}

func startRedisForTest(t testing.TB, extraArgs ...string) *Server {
	t.Helper()
	server, err := startRedis(extraArgs...)
	if err != nil {
		t.Fatal(err)
	}
	server.stopWithTest(t)
	return server
}

// requireRedis skips the test if redis-server is not installed and not required.
func requireRedis(t testing.TB) {
	t.Helper()
	if !isInstalled(t, "redis-server", redisServerPath()) {
		t.Skip("redis-server is not installed")
	}
}

func redisServerPath() string { return findExecutable("redis-server") }

// clusterEnabled is the argument of a redis-server that makes it a node of a cluster.
const clusterEnabled = "--cluster-enabled"

// startRedis starts an empty server without persistence.
func startRedis(extraArgs ...string) (*Server, error) {
	dir, err := newServerDir("redis-server", redisServerPath())
	if err != nil {
		return nil, err
	}
	return startOnFreePort(func(port int) (*Server, error) {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		server := &Server{URL: "redis://" + addr, Addr: addr}
		args := append([]string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0",
		}, extraArgs...)
		if slices.Contains(extraArgs, clusterEnabled) {
			var err error
			if server.clusterPort, err = FreePort(); err != nil {
				return nil, err
			}
			args = append(args, "--cluster-port", strconv.Itoa(server.clusterPort))
		}
		server.child = child{
			path: redisServerPath(), args: args,
			log:   filepath.Join(dir, fmt.Sprintf("redis-%d.log", port)),
			ready: func(ctx context.Context, pid int) error { return redisReady(ctx, addr, pid) },
		}
		return server, server.child.start()
	})
}

// redisReady returns nil if the process pid answers at the address. If another process has
// taken the port, it returns errPortTaken.
func redisReady(ctx context.Context, addr string, pid int) error {
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	defer client.Close()
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", pid)) {
		return errPortTaken
	}
	return nil
}
