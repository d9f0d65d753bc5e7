package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stores are the Redis cluster and the PostgreSQL that this program starts.
type stores struct {
	dir     string
	running []*exec.Cmd
}

// startCluster starts three masters and gives their URL.
func (s *stores) startCluster(ctx context.Context) (string, error) {
	var addresses []string
	for range 3 {
		port, err := freePort(ctx)
		if err != nil {
			return "", err
		}
		bus, err := freePort(ctx)
		if err != nil {
			return "", err
		}
		err = s.start(exec.CommandContext(ctx, "redis-server", "--port", port, "--cluster-port", bus, "--bind", "127.0.0.1", "--dir", s.dir,
			"--cluster-enabled", "yes", "--cluster-config-file", "redis-"+port+".conf", "--save", "", "--appendonly", "no"), port)
		if err != nil {
			return "", err
		}
		addresses = append(addresses, "127.0.0.1:"+port)
	}
	made := exec.CommandContext(ctx, "redis-cli", append([]string{"--cluster", "create", "--cluster-yes"}, addresses...)...)
	if out, err := made.CombinedOutput(); err != nil {
		return "", fmt.Errorf("redis-cli --cluster create: %w: %s", err, out)
	}
	return "redis://" + strings.Join(addresses, ","), nil
}

// startPostgres makes an empty PostgreSQL and gives its URL. As root it runs as
// the user postgres, since it refuses root.
func (s *stores) startPostgres(ctx context.Context) (string, error) {
	port, err := freePort(ctx)
	if err != nil {
		return "", err
	}
	data := filepath.Join(s.dir, "postgres")
	as, err := owner(s.dir, data)
	if err != nil {
		return "", err
	}
	initdb := exec.CommandContext(ctx, program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C.UTF-8")
	initdb.SysProcAttr = as
	initdb.Dir = data
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w: %s", err, out)
	}
	server := exec.CommandContext(ctx, program("postgres"), "-D", data, "-h", "127.0.0.1", "-p", port, "-k", "", "-c", "max_connections=400")
	server.SysProcAttr = as
	server.Dir = data
	if err := s.start(server, port); err != nil {
		return "", err
	}
	return "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable", nil
}

// owner makes the folder of the data, and says as whom its server runs, apart
// from our own process group: an interrupt is for us.
func owner(dir, data string) (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{Setpgid: true}
	if err := os.Mkdir(data, 0o700); err != nil || os.Geteuid() != 0 {
		return as, err
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w; give one with -database", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	return as, os.Chown(data, int(uid), int(gid))
}

// program is a program of PostgreSQL, of the newest version where it is off the
// PATH, as Debian keeps them.
func program(name string) string {
	paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if _, err := exec.LookPath(name); err == nil || len(paths) == 0 {
		return name
	}
	return paths[len(paths)-1]
}

// start starts a server and waits until its port answers.
func (s *stores) start(cmd *exec.Cmd, port string) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: install it, or give the address of one", err)
	}
	s.running = append(s.running, cmd)
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", "127.0.0.1:"+port); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("%s does not answer on port %s", cmd.Path, port)
}

// stop ends what was started.
func (s *stores) stop() {
	for _, cmd := range s.running {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	}
}

func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "", err
	}
	return port, l.Close()
}
