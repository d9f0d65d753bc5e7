package harness

import (
	"bufio"
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

	"github.com/jackc/pgx/v5"
)

// Stores are databases that a load program starts for its nodes, in a folder. They end
// with Stop.
type Stores struct {
	Dir     string
	running []*exec.Cmd
}

// start starts a program that ends with this process. It has its own process group,
// because an interrupt is for this process.
func (s *Stores) start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return err
	}
	s.running = append(s.running, cmd)
	first(cmd.Process.Pid)
	return nil
}

// first raises the priority of a store and its children above nodes and players, if the
// system allows it. A store usually has its own machine. Here it would get the share of
// one thread among many, just when the load on it is highest.
func first(process int) {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, process, -10) // only root may; otherwise all have equal priority
}

// Stop ends all started programs, the last one first.
func (s *Stores) Stop() {
	for i := len(s.running) - 1; i >= 0; i-- {
		end(s.running[i], endWithin)
	}
}

// Cluster starts a Redis cluster of three masters and returns its URL.
func (s *Stores) Cluster(ctx context.Context) (string, error) {
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "laststand").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m laststand: %w", err)
	}
	script := filepath.Join(strings.TrimSpace(string(module)), "deploy", "cluster.sh")
	cmd := exec.CommandContext(ctx, "bash", script, "-d", s.Dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := s.start(cmd); err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "redis://") {
			return lines.Text(), nil
		}
	}
	return "", fmt.Errorf("%s did not start a cluster", script)
}

// Redis starts a redis-server and returns its URL and its process id.
func (s *Stores) Redis(ctx context.Context) (url string, process int, err error) {
	cmd, address, err := launchRedis(ctx, s.Dir)
	if cmd != nil {
		s.running = append(s.running, cmd)
	}
	if err != nil {
		return "", 0, err
	}
	first(cmd.Process.Pid)
	return "redis://" + address, cmd.Process.Pid, nil
}

// Postgres starts an empty PostgreSQL and returns its URL.
func (s *Stores) Postgres(ctx context.Context) (string, error) {
	address, port, err := FreeAddress(ctx)
	if err != nil {
		return "", err
	}
	data := filepath.Join(s.Dir, "postgres")
	as, err := s.owner(data)
	if err != nil {
		return "", err
	}
	initdb := exec.CommandContext(ctx, program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C.UTF-8")
	initdb.Dir, initdb.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s; or give one with -database", err, out)
	}
	server := exec.CommandContext(ctx, program("postgres"), "-D", data, "-h", "127.0.0.1", "-p", port, "-k", "", "-c", "max_connections=400")
	server.Dir, server.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	if err := s.start(server); err != nil {
		return "", err
	}
	url := "postgres://postgres@" + address + "/postgres?sslmode=disable"
	return url, takes(ctx, url)
}

// owner creates the data folder of a PostgreSQL, and returns the user for its server. If
// this process runs as root, that is the user postgres, because PostgreSQL refuses root.
func (s *Stores) owner(data string) (*syscall.Credential, error) {
	if err := os.Mkdir(data, 0o700); err != nil || os.Geteuid() != 0 {
		return nil, err
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
	if err := os.Chmod(s.Dir, 0o711); err != nil { // the user needs access to its data below this folder
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(data, int(uid), int(gid))
}

// program returns the path of a PostgreSQL program. If it is not in the PATH, as on
// Debian, program chooses the newest version.
func program(name string) string {
	paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if _, err := exec.LookPath(name); err == nil || len(paths) == 0 {
		return name
	}
	return paths[len(paths)-1]
}

// listens waits until a program listens at an address.
func listens(ctx context.Context, address string) (err error) {
	var conn net.Conn
	for range 200 {
		if conn, err = new(net.Dialer).DialContext(ctx, "tcp", address); err == nil {
			return conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// takes waits until a PostgreSQL accepts connections. It listens before it does.
func takes(ctx context.Context, url string) (err error) {
	var conn *pgx.Conn
	for range 200 {
		if conn, err = pgx.Connect(ctx, url); err == nil {
			return conn.Close(ctx)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// Processes returns the ids of the started servers.
func (s *Stores) Processes() (all []int) {
	for _, cmd := range s.running {
		all = append(all, cmd.Process.Pid)
	}
	return all
}
