package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A service is a server that a test starts in a sandbox as systemd would: with the command and the
// user of the installed unit, and a socket for its notifications.
type service struct {
	sandbox *sandbox
	cmd     *exec.Cmd
	socket  *net.UnixConn
	log     lockedBuffer
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startService starts the installed unit and waits for READY=1.
func startService(t *testing.T, s *sandbox) *service {
	t.Helper()
	unit := map[string]string{}
	for line := range strings.Lines(s.read(t, "/usr/lib/systemd/system/laststand.service")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		unit[key] = value
	}
	if unit["Type"] != "notify" || unit["StateDirectory"] != "laststand" {
		t.Fatalf("the test cannot start the unit %v", unit)
	}
	user := s.userID(t, unit["User"])
	command := strings.Fields(unit["ExecStart"])
	v := &service{sandbox: s, cmd: exec.Command(command[0], command[1:]...)}
	v.cmd.Dir = unit["WorkingDirectory"]
	v.cmd.Env = []string{"NOTIFY_SOCKET=/run/notify", "WATCHDOG_USEC=300000", "STATE_DIRECTORY=/var/lib/laststand"}
	v.cmd.Stdout, v.cmd.Stderr = &v.log, &v.log
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
	var err error
	s.do(func() {
		_ = os.Remove(s.path("/run/notify"))
		v.socket, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.path("/run/notify"), Net: "unixgram"})
		if err == nil {
			err = os.Chmod(s.path("/run/notify"), 0o777)
		}
		if mkdirErr := os.Mkdir(s.path("/var/lib/laststand"), 0o750); err == nil && mkdirErr == nil { // as StateDirectory does
			err = os.Chown(s.path("/var/lib/laststand"), int(user), int(user))
		}
		if err == nil {
			err = v.cmd.Start()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.cmd.Process.Kill(); _ = v.socket.Close() })
	v.await(t, "READY=1")
	return v
}

// await reads notifications until one has a line.
func (v *service) await(t *testing.T, line string) (notification string) {
	t.Helper()
	buffer := make([]byte, 4096)
	_ = v.socket.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		n, err := v.socket.Read(buffer)
		if err != nil {
			t.Fatalf("no %s: %v\n%s", line, err, v.log.String())
		}
		notification = string(buffer[:n])
		if strings.Contains("\n"+notification+"\n", "\n"+line+"\n") {
			return notification
		}
	}
}

// stop stops the service as systemd does. The server must end with 0.
func (v *service) stop(t *testing.T) {
	t.Helper()
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if n := v.await(t, "STOPPING=1"); !strings.Contains(n, "EXTEND_TIMEOUT_USEC=") {
		t.Errorf("the server does not ask for the time of its drain: %q", n)
	}
	if err := v.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, v.log.String())
	}
	_ = v.socket.Close()
}

// userID returns the id of a user, whose group has the same id.
func (s *sandbox) userID(t *testing.T, name string) uint32 {
	t.Helper()
	for line := range strings.Lines(s.read(t, "/etc/passwd")) {
		fields := strings.Split(line, ":")
		if fields[0] == name {
			id, err := strconv.ParseUint(fields[2], 10, 32)
			if err != nil || fields[3] != fields[2] {
				t.Fatalf("%s: %v", line, err)
			}
			return uint32(id)
		}
	}
	t.Fatalf("there is no user %q", name)
	return 0
}
