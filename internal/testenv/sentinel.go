package testenv

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Sentinels starts three Sentinels for this test alone that watch a master with a replica. The
// configuration is a text that names the master redis-1 6379, listens on port 26379, and has the
// folder /data. It returns their URL, with the name of the master from the configuration.
func Sentinels(t testing.TB, master *Server, config, name string) (url string) {
	t.Helper()
	var addrs []string
	var servers []*Server
	for range 3 {
		server, err := startSentinel(master, config)
		if err != nil {
			t.Fatalf("start a Sentinel: %v", err)
		}
		server.stopWithTest(t)
		servers, addrs = append(servers, server), append(addrs, server.Addr)
	}
	for _, server := range servers {
		ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
		server.failTestOn(awaitInfo(ctx, server, "sentinel", "slaves=1,sentinels=3"))
		cancel()
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + name
}

func startSentinel(master *Server, config string) (*Server, error) {
	dir, err := newServerDir("sentinel", redisServerPath())
	if err != nil {
		return nil, err
	}
	host, masterPort, err := net.SplitHostPort(master.Addr)
	if err != nil {
		return nil, err
	}
	return startOnFreePort(func(port int) (*Server, error) {
		server := &Server{Addr: net.JoinHostPort(host, strconv.Itoa(port))}
		text := strings.NewReplacer("redis-1 6379", host+" "+masterPort, "port 26379", "port "+strconv.Itoa(port), "dir /data", "dir "+dir).Replace(config)
		file := filepath.Join(dir, "sentinel.conf")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return nil, err
		}
		server.child = child{
			path: redisServerPath(), args: []string{file, "--sentinel", "--bind", host}, log: filepath.Join(dir, "sentinel.log"),
			ready: func(ctx context.Context, pid int) error { return redisReady(ctx, server.Addr, pid) },
		}
		return server, server.child.start()
	})
}
