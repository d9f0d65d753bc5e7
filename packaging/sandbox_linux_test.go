package main

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sandbox is a root folder with its own mounts and its own network, which only has a loopback
// device. So the test can install a package with the real dpkg and leaves no trace.
type sandbox struct {
	root string
	work chan func() // functions for the thread that is in the sandbox
}

// newSandbox starts the thread of a sandbox. mount prepares root there, below an empty folder of
// memory. The test is left out if the process may not do that.
func newSandbox(t *testing.T, mount func(folder string) (root string, err error)) *sandbox {
	t.Helper()
	if os.Getuid() != 0 {
		leaveOut(t, "root")
	}
	s := &sandbox{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and the mounts with it
		for f := range s.work {
			f()
		}
	}()
	t.Cleanup(func() { close(s.work) })
	folder := t.TempDir()
	var err error
	s.do(func() {
		if err = enterNamespaces(); err == nil {
			err = unix.Mount("tmpfs", folder, "tmpfs", 0, "mode=0755")
		}
		if err == nil {
			s.root, err = mount(folder)
		}
	})
	if err != nil {
		t.Fatalf("create a sandbox: %v", err)
	}
	return s
}

// leaveOut skips the test, or fails it if everything is required.
func leaveOut(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("LASTSTAND_TEST_REQUIRE") == "all" {
		t.Fatalf("%s is missing, and LASTSTAND_TEST_REQUIRE=all", missing)
	}
	if file, err := os.OpenFile(os.Getenv("LASTSTAND_TEST_UNTRIED"), os.O_APPEND|os.O_WRONLY, 0); err == nil {
		_, _ = file.WriteString(missing + "\n")
		_ = file.Close()
	}
	t.Skipf("%s is missing", missing)
}

func enterNamespaces() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS | unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request := struct { // struct ifreq
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: unix.IFF_UP}
	copy(request.name[:], "lo")
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}

// do calls f on the thread of the sandbox.
func (s *sandbox) do(f func()) {
	done := make(chan struct{})
	s.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// path returns the path of a file of the sandbox, for functions that do runs.
func (s *sandbox) path(name string) string { return filepath.Join(s.root, name) }

// read returns the text of a file of the sandbox.
func (s *sandbox) read(t *testing.T, name string) string {
	t.Helper()
	var content []byte
	var err error
	s.do(func() { content, err = os.ReadFile(s.path(name)) })
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// write writes a file of the sandbox.
func (s *sandbox) write(t *testing.T, name, content string) {
	t.Helper()
	var err error
	s.do(func() { err = os.WriteFile(s.path(name), []byte(content), 0o600) })
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a program in the sandbox as root, and returns its output. A failure fails the test.
func (s *sandbox) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out []byte
	var err error
	s.do(func() {
		cmd := exec.Command("/usr/bin/env", append([]string{name}, args...)...) // env searches in the sandbox
		cmd.Dir = "/"
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root}
		out, err = cmd.CombinedOutput()
	})
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// request sends a request to the server in the sandbox. It dials on the thread of the sandbox.
func (s *sandbox) request(t *testing.T, method, path, body string) (status int, answer string) {
	t.Helper()
	var conn net.Conn
	var err error
	s.do(func() { conn, err = net.Dial("tcp", "127.0.0.1:8080") })
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	if err := request.Write(conn); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text strings.Builder
	if _, err := bufio.NewReader(response.Body).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, text.String()
}
