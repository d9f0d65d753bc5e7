// Package harness starts the programs that a load program measures. These are a server
// built from this tree and, on request, a redis-server. All of them listen on free
// loopback ports, and end with Stop.
package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Build returns the given server. If none is given (""), it compiles one, and done
// removes that. done is never nil.
func Build(ctx context.Context, given string) (binary string, done func(), err error) {
	if given != "" {
		return given, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "laststand-load")
	if err != nil {
		return "", func() {}, err
	}
	done = func() { _ = os.RemoveAll(dir) }
	binary = filepath.Join(dir, "server")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "laststand/cmd/server").CombinedOutput()
	if err != nil {
		done()
		return "", func() {}, fmt.Errorf("go build: %w: %s", err, out)
	}
	return binary, done, nil
}

// Options say which programs to start.
type Options struct {
	Binary string
	Env    []string // in addition to this process's own; the program may end with its standard input
	Redis  bool     // on its own redis-server; otherwise embedded
	Game   string   // settings of the game demo, as YAML in braces
	Bank   []byte   // questions to import as the bank `load`; nil for none

	Settings string            // a complete configuration file instead of Game, without limits; for keys use KeysYAML
	Files    map[string][]byte // to write beside the configuration file
	RedisURL string            // of a running Redis, instead of Redis
	Database string            // value of --database; "": a file

	Fill func(data string) error // writes a ledger into the data folder before the start; nil: none
}

// Server is a running server.
type Server struct {
	URL     string
	Ops     string // URL of its operations; "" for Bare
	Redis   string // its address; "" for embedded and for a Redis that ran already
	dir     string
	options Options
	stores  []string    // flags that name configuration and stores
	running []*exec.Cmd // ended in this order
	held    []io.Closer // standard inputs
}

// Start starts a server in its own folder, without limits on clients.
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

// Bare starts another program in place of the server, and a redis-server. The program
// gets --redis ADDRESS, and prints where it listens as the server does.
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
	s.options = o
	config, err := s.configure(o)
	if err != nil {
		return err
	}
	s.stores = []string{"--data", s.dir, "--config", config}
	if o.Redis {
		if s.Redis, err = s.startRedis(ctx); err != nil {
			return err
		}
		o.RedisURL = "redis://" + s.Redis
	}
	if o.RedisURL != "" {
		s.stores = append(s.stores, "--redis", o.RedisURL)
	}
	if o.Database != "" {
		s.stores = append(s.stores, "--database", o.Database)
	}
	if err := s.importBank(ctx, o); err != nil {
		return err
	}
	if o.Fill != nil {
		if err := o.Fill(s.dir); err != nil {
			return err
		}
	}
	return s.startServer(ctx, o.Binary, append([]string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--drain", "0s"}, s.stores...))
}

// configure writes the configuration and the files that it names, and returns its path.
func (s *Server) configure(o Options) (string, error) {
	if o.Settings == "" {
		game := strings.TrimSuffix(strings.TrimSpace(o.Game), "}")
		o.Settings = fmt.Sprintf("games: {demo: %s, %s}}\n"+
			"limits: {messages_per_second: 10000, guests_per_minute_per_address: 0, nickname_lookups_per_minute_per_address: 0, reads_per_second_per_address: 0,\n"+
			"  arena_guests_per_minute_per_address: 0, guests_per_minute_per_arena: 0, behaviours_per_second_per_service: 0,\n"+
			"  task_requests_per_second_per_service: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0,\n"+
			"  connections_per_address: 0, hellos_per_minute: 0, hellos_per_minute_per_address: 0, max_concurrent_requests: 0, max_scheduler_lag_ms: 0,\n"+
			"  matches_per_day_per_player: 0, matches_per_day_per_address: 0}\n", game, KeysYAML)
	}
	config := filepath.Join(s.dir, "load.yaml")
	err := errors.Join(os.WriteFile(config, []byte(o.Settings), 0o600), os.WriteFile(filepath.Join(s.dir, "load.key"), []byte(secret), 0o600))
	for name, text := range o.Files {
		err = errors.Join(err, os.WriteFile(filepath.Join(s.dir, name), text, 0o600))
	}
	return config, err
}

func (s *Server) importBank(ctx context.Context, o Options) error {
	if o.Bank == nil {
		return nil
	}
	file := filepath.Join(s.dir, "bank.json")
	if err := os.WriteFile(file, o.Bank, 0o600); err != nil {
		return err
	}
	arguments := []string{"bank", "import", "--data", s.dir, "--bank", "load", file}
	if o.Database != "" {
		arguments = append(arguments, "--database", o.Database)
	}
	out, err := exec.CommandContext(ctx, o.Binary, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("bank import: %w: %s", err, out)
	}
	return nil
}

// startServer starts a program and waits until it prints where it listens.
func (s *Server) startServer(ctx context.Context, binary string, args []string) error {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), s.options.Env...)
	log, err := os.Create(s.log())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	held, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.running, s.held = append([]*exec.Cmd{cmd}, s.running...), append(s.held, held)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.URL = url
		}
		if url, ok := strings.CutPrefix(lines.Text(), "operations on "); ok {
			s.Ops = url
		}
		if s.URL != "" && (s.Ops != "" || s.stores == nil) { // a bare program has no operations
			return nil
		}
	}
	return fmt.Errorf("the server did not start: %s", s.Log())
}

func (s *Server) startRedis(ctx context.Context) (string, error) {
	cmd, address, err := launchRedis(ctx, s.dir)
	if cmd != nil {
		s.running = append(s.running, cmd)
	}
	return address, err
}

// launchRedis starts a redis-server that stores nothing, and waits until it listens. If
// it returns a command, the caller must end it, even after an error.
func launchRedis(ctx context.Context, dir string) (*exec.Cmd, string, error) {
	address, port, err := FreeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(ctx, "redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", dir)
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("redis-server is needed for this part (Debian: apt-get install redis-server): %w", err)
	}
	if err := listens(ctx, address); err != nil {
		return cmd, "", fmt.Errorf("redis-server did not start: %w", err)
	}
	return cmd, address, nil
}

// FreeAddress returns a loopback address on which no process listens now, and its port.
func FreeAddress(ctx context.Context) (address, port string, err error) {
	free, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	address = free.Addr().String()
	_, port, _ = net.SplitHostPort(address)
	return address, port, free.Close()
}

// Kill ends the server as a power failure does. Its redis-server continues.
func (s *Server) Kill() {
	_ = s.running[0].Process.Kill()
	_ = s.running[0].Wait()
	s.running = s.running[1:]
}

// Stop ends all started programs and removes the folder.
func (s *Server) Stop() {
	for _, cmd := range s.running {
		end(cmd, endWithin)
	}
	for _, held := range s.held {
		_ = held.Close()
	}
	_ = os.RemoveAll(s.dir)
}

// endWithin bounds how long a program may take to exit in order.
const endWithin = 20 * time.Second

// end asks a program to exit, kills it if that takes too long, and waits for it.
func end(cmd *exec.Cmd, within time.Duration) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
	kill := time.AfterFunc(within, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait() // the exit status does not matter
}
