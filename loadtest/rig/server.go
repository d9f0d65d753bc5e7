// Package rig starts what a load program measures: a server built from this
// tree, and a redis-server beside it where it is to run on one. All of it
// listens on loopback, on free ports, and ends with Stop.
package rig

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

	"github.com/golang-jwt/jwt/v5"
)

// Build compiles the server; done removes it.
func Build(ctx context.Context) (binary string, done func(), err error) {
	dir, err := os.MkdirTemp("", "laststand-load")
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

// Options say what to start.
type Options struct {
	Binary string
	Redis  bool   // on a redis-server of its own; else embedded
	Game   string // settings of the game demo, as YAML in braces
	Bank   []byte // questions to import as the bank `load`; nil for none

	Fill func(data string) error // puts a ledger into the data folder before the start; nil: none
}

// Server is a running server.
type Server struct {
	URL     string
	Redis   string // its address; "" for embedded
	dir     string
	running []*exec.Cmd // ended in this order
}

// secret signs the tokens of the game demo.
const secret = "a secret that only load programs know"

// Start starts a server in a folder of its own that limits nobody.
func Start(ctx context.Context, o Options) (*Server, error) {
	dir, err := os.MkdirTemp("", "laststand-load")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if err := s.start(ctx, o); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Bare starts another program in place of the server, beside a redis-server: it
// is told --redis ADDRESS, and says where it listens as the server does.
func Bare(ctx context.Context, binary string, args ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "laststand-load")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if s.Redis, err = s.startRedis(ctx); err == nil {
		err = s.startServer(ctx, binary, append(args, "--redis", s.Redis))
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, o Options) error {
	game := strings.TrimSuffix(strings.TrimSpace(o.Game), "}")
	file := fmt.Sprintf("games: {demo: %s, keys: [{id: load, alg: HS256, secret_file: load.key}]}}\n"+
		"limits: {messages_per_second: 10000, guests_per_minute_per_address: 1000000}\n", game)
	config := filepath.Join(s.dir, "load.yaml")
	err := errors.Join(os.WriteFile(config, []byte(file), 0o600), os.WriteFile(filepath.Join(s.dir, "load.key"), []byte(secret), 0o600))
	if err != nil {
		return err
	}
	args := []string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--data", s.dir, "--config", config, "--drain", "0s"}
	if o.Redis {
		address, err := s.startRedis(ctx)
		if err != nil {
			return err
		}
		s.Redis = address
		args = append(args, "--redis", "redis://"+address)
	}
	if err := s.importBank(ctx, o); err != nil {
		return err
	}
	if o.Fill != nil {
		if err := o.Fill(s.dir); err != nil {
			return err
		}
	}
	return s.startServer(ctx, o.Binary, args)
}

func (s *Server) importBank(ctx context.Context, o Options) error {
	if o.Bank == nil {
		return nil
	}
	file := filepath.Join(s.dir, "bank.json")
	if err := os.WriteFile(file, o.Bank, 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, o.Binary, "bank", "import", "--data", s.dir, "--bank", "load", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("bank import: %w: %s", err, out)
	}
	return nil
}

func (s *Server) startServer(ctx context.Context, binary string, args []string) error {
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
			s.URL = url
			return nil
		}
	}
	told, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the server did not start: %s", told)
}

func (s *Server) startRedis(ctx context.Context) (string, error) {
	address, port, err := FreeAddress(ctx)
	if err != nil {
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

// FreeAddress is an address of loopback where nobody listens just now, and its
// port.
func FreeAddress(ctx context.Context) (address, port string, err error) {
	free, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	address = free.Addr().String()
	_, port, _ = net.SplitHostPort(address)
	return address, port, free.Close()
}

// Stop ends what was started and removes its folder.
func (s *Server) Stop() {
	for _, cmd := range s.running {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	_ = os.RemoveAll(s.dir)
}

// Token mints a token of the game demo that is good for an hour. The servers
// of this package take it.
func Token(role, sub string) (string, error) {
	now := time.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": sub, "game": "demo", "role": role, "iat": now.Add(-time.Second).Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	token.Header["kid"] = "load"
	return token.SignedString([]byte(secret))
}
