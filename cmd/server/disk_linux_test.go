package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"laststand/internal/protocol"
)

// testDisk is a folder whose disk a test can make full for a process, and free again. To start a
// process on a full disk, put startPrefix before the program.
type testDisk struct {
	dir                string
	startPrefix        []string
	makeFull, makeRoom func(pid int)
}

// newTestDisk returns a separate small file system if the test may mount one. Otherwise it
// keeps the files of the process from growing, which gives SQLite the same error.
func newTestDisk(t *testing.T) testDisk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Logf("no file system can be mounted (%v): files are limited instead", err)
		return limitedFiles(t, dir)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	return testDisk{
		dir: dir,
		makeFull: func(int) {
			for size := 1 << 20; size > 0; size /= 2 { // to the last byte
				for appendTo(t, ballast, size) {
				}
			}
		},
		makeRoom: func(int) { _ = os.Remove(ballast) },
	}
}

// appendTo appends size bytes to a file. It returns false if the disk is full.
func appendTo(t *testing.T, path string, size int) bool {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.Write(make([]byte, size))
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return err == nil
}

func limitedFiles(t *testing.T, dir string) testDisk {
	limit := func(pid int, bytes string) {
		t.Helper()
		if out, err := exec.Command("prlimit", "--pid="+strconv.Itoa(pid), "--fsize="+bytes+":").CombinedOutput(); err != nil {
			t.Fatalf("prlimit: %v: %s", err, out)
		}
	}
	return testDisk{
		dir: dir, startPrefix: []string{"prlimit", "--fsize=0:"},
		makeFull: func(pid int) { limit(pid, "0") }, makeRoom: func(pid int) { limit(pid, "unlimited") },
	}
}

func TestAStartOnAFullDiskFailsWithAMessage(t *testing.T) {
	t.Parallel()
	disk := newTestDisk(t)
	if disk.startPrefix == nil {
		disk.makeFull(0)
	}
	args := slices.Concat(disk.startPrefix, []string{os.Args[0], "--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0", "--data=" + disk.dir})
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), actAsVariable+"=command")
	output, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the start ended with %v, want exit code 1", err)
	}
	checkContains(t, string(output), disk.dir, "may be full", "--data")
}

// A disk is full during a duel. The players finish the duel, and the server asks new players to
// retry. When the disk has room again, the server settles the result.
func TestResultsWaitWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	disk := newTestDisk(t)
	flags := []string{"--data=" + disk.dir, "--config=" + configFile(t, slowDuelsConfig)}
	process := startProcess(t, flags...)
	duel := startDuel(t, process.url, process.url, "demo")

	disk.makeFull(process.cmd.Process.Pid)
	var problem struct{ Code protocol.Code }
	if status := postGuest(t, process.url, device, "").decode(t, &problem); status != http.StatusServiceUnavailable || problem.Code != protocol.CodeUnavailable {
		t.Errorf("on a full disk a new player gets %d %s", status, problem.Code)
	}
	playToEnd(t, duel[:]...)
	checkUnsettled(t, process.url, "demo", duel[0])

	disk.makeRoom(process.cmd.Process.Pid)
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeSettled) })
	checkSettledOnce(t, process.url, "demo", duel[0].over)
	if r := postGuest(t, process.url, device, ""); r.status != http.StatusCreated {
		t.Errorf("with room again a new player gets %s", r)
	}
	process.signal(syscall.SIGTERM)
	if code := process.wait(t); code != 0 {
		t.Errorf("the process ended with %d\n%s", code, process.log)
	}
	checkSettledOnce(t, startProcess(t, flags...).url, "demo", duel[0].over)
}
