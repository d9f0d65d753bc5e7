package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// build compiles the server once; done removes it.
func build(ctx context.Context) (binary string, done func(), err error) {
	dir, err := os.MkdirTemp("", "duels")
	if err != nil {
		return "", nil, err
	}
	binary = filepath.Join(dir, "server")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "laststand/cmd/server").CombinedOutput()
	if err != nil {
		return "", nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	return binary, func() { _ = os.RemoveAll(dir) }, nil
}

// server is a running server, and the redis-server that it runs on.
type server struct {
	url     string
	dir     string
	running []*exec.Cmd // ended in this order
}

// start starts a server in a folder of its own, with duels that do not wait.
func start(ctx context.Context, binary string, redis bool, revealMS int) (*server, error) {
	dir, err := os.MkdirTemp("", "duels")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	file := fmt.Sprintf(`games: {demo: {duel: {countdown_ms: 0, reveal_ms: %d, bot_after_ms: 0}}}
limits: {messages_per_second: 10000, guests_per_minute_per_address: 1000000}
`, revealMS)
	config := filepath.Join(dir, "load.yaml")
	if err := os.WriteFile(config, []byte(file), 0o600); err != nil {
		return nil, err
	}
	args := []string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--data", dir, "--config", config, "--drain", "0s"}
	if redis {
		address, err := s.startRedis(ctx)
		if err != nil {
			s.stop()
			return nil, err
		}
		args = append(args, "--redis", "redis://"+address)
	}
	if err := s.startServer(ctx, binary, args); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) startServer(ctx context.Context, binary string, args []string) error {
	cmd := exec.CommandContext(ctx, binary, args...)
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.running = append([]*exec.Cmd{cmd}, s.running...)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.url = url
			return nil
		}
	}
	told, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the server did not start: %s", told)
}

func (s *server) startRedis(ctx context.Context) (string, error) {
	free, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := free.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := free.Close(); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "redis-server", "--port", port, "--save", "", "--appendonly", "no", "--dir", s.dir)
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("redis-server is needed for this part (Debian: apt-get install redis-server): %w", err)
	}
	s.running = append(s.running, cmd)
	for range 100 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return address, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", errors.New("redis-server did not start on port " + strconv.Quote(port))
}

// stop ends what was started and removes its folder.
func (s *server) stop() {
	for _, cmd := range s.running {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
