package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis starts an empty redis-server without persistence for this test alone. It skips the
// test if redis-server is not installed and not required.
func Redis(t testing.TB) *Server {
	t.Helper()
	require(t, "redis-server")
	server, err := startRedis()
	return ownedBy(t, server, err)
}

// Replica starts a redis-server for this test alone that replicates another server. It
// waits until the replica has all data.
func Replica(t testing.TB, master *Server) *Server {
	t.Helper()
	host, port, _ := strings.Cut(master.Addr, ":")
	server, err := startRedis("--replicaof", host, port)
	ownedBy(t, server, err)
	ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
	defer cancel()
	server.failTestOn(awaitReplication(ctx, server, master))
	return server
}

// Sentinels starts three Sentinels for this test alone that watch a master with a replica. The
// configuration is a text that names the master redis-1 6379, listens on port 26379, and has the
// folder /data. It returns their URL, with the name of the master from the configuration.
func Sentinels(t testing.TB, master *Server, config, name string) (url string) {
	t.Helper()
	var addrs []string
	var servers []*Server
	for range 3 {
		server, err := startSentinel(master, config)
		servers, addrs = append(servers, ownedBy(t, server, err)), append(addrs, server.Addr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
	defer cancel()
	for _, server := range servers {
		server.failTestOn(server.awaitInfo(ctx, "INFO sentinel", "slaves=1,sentinels=3"))
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + name
}

// clusterEnabled is the argument of a redis-server that makes it a node of a cluster.
const clusterEnabled = "--cluster-enabled"

// startRedis starts an empty server without persistence.
func startRedis(extraArgs ...string) (*Server, error) {
	dir, err := newServerDir("redis-server", programPath("redis-server"))
	if err != nil {
		return nil, err
	}
	return startOnFreePort(func(s *Server, port int) (err error) {
		s.URL = "redis://" + s.Addr
		args := append([]string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0",
		}, extraArgs...)
		if slices.Contains(extraArgs, clusterEnabled) {
			s.clusterPort, err = FreePort()
			args = append(args, "--cluster-port", strconv.Itoa(s.clusterPort))
		}
		s.process = process{path: programPath("redis-server"), args: args, log: filepath.Join(dir, fmt.Sprintf("redis-%d.log", port)), ready: s.redisReady}
		return err
	})
}

func startSentinel(master *Server, config string) (*Server, error) {
	dir, err := newServerDir("sentinel", programPath("redis-server"))
	if err != nil {
		return nil, err
	}
	masterAddr := strings.Replace(master.Addr, ":", " ", 1)
	return startOnFreePort(func(s *Server, port int) error {
		text := strings.NewReplacer("redis-1 6379", masterAddr, "port 26379", "port "+strconv.Itoa(port), "dir /data", "dir "+dir).Replace(config)
		file := filepath.Join(dir, "sentinel.conf")
		s.process = process{
			path: programPath("redis-server"), args: []string{file, "--sentinel", "--bind", "127.0.0.1"}, log: filepath.Join(dir, "sentinel.log"), ready: s.redisReady,
		}
		return os.WriteFile(file, []byte(text), 0o666)
	})
}

// redisReady returns nil if the process pid answers at the address. If another process has
// taken the port, it returns errPortTaken.
func (s *Server) redisReady(ctx context.Context, pid int) error {
	info, err := s.redis(ctx, "INFO server")
	if err == nil && !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", pid)) {
		return errPortTaken
	}
	return err
}

// redis runs a command of Redis on this server, and returns the reply as text. The words of the
// command are separated by spaces.
func (s *Server) redis(ctx context.Context, command string) (string, error) {
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	defer client.Close()
	var args []any
	for word := range strings.FieldsSeq(command) {
		args = append(args, word)
	}
	return client.Do(ctx, args...).Text()
}

// awaitInfo waits until the reply to a command contains all the texts.
func (s *Server) awaitInfo(ctx context.Context, command string, wantTexts ...string) error {
	return Poll(ctx, 20*time.Millisecond, func() error {
		info, err := s.redis(ctx, command)
		if err == nil && !containsAll(info, wantTexts) {
			err = fmt.Errorf("%s waits for %q: %s", s.Addr, wantTexts, info)
		}
		return err
	})
}

func containsAll(text string, wantTexts []string) bool {
	return !slices.ContainsFunc(wantTexts, func(want string) bool { return !strings.Contains(text, want) })
}

// awaitReplication waits until a replica has all of its master's data and the master knows it.
func awaitReplication(ctx context.Context, replica, master *Server) error {
	if err := replica.awaitInfo(ctx, "INFO replication", "master_link_status:up"); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(replica.Addr)
	if err != nil {
		return err
	}
	return master.awaitInfo(ctx, "INFO replication", "port="+port+",state=online")
}
