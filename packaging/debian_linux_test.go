package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mountThisSystem mounts a copy of this system, whose changes stay in memory.
func mountThisSystem(folder string) (root string, err error) {
	upper, work, root := filepath.Join(folder, "upper"), filepath.Join(folder, "work"), filepath.Join(folder, "root")
	for _, d := range []string{upper, work, root} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return "", err
		}
	}
	if err := unix.Mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work); err != nil {
		return "", err
	}
	for _, d := range []string{"/run", "/tmp"} {
		if err := unix.Mount("tmpfs", root+d, "tmpfs", 0, "mode=1777"); err != nil {
			return "", err
		}
	}
	for _, d := range []string{"/proc", "/dev"} {
		if err := unix.Mount(d, root+d, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return "", err
		}
	}
	return root, nil
}

// checkDebianPackage installs, uses, upgrades, removes and purges the .deb with the real dpkg and
// apt. The new version brings another configuration file.
func checkDebianPackage(t *testing.T, dist, newDist string) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		leaveOut(t, "apt-get")
	}
	s := newSandbox(t, mountThisSystem)
	const config = "/etc/laststand/laststand.yaml"
	install := func(dist, name string) {
		s.write(t, "/tmp/"+name, readText(t, dist, name))
		s.run(t, "apt-get", "install", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", "/tmp/"+name)
	}
	install(dist, "laststand_0.1.0_amd64.deb")
	if out := s.run(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", "/usr/lib/systemd/system/laststand.service"); !strings.Contains(out, "OK") {
		t.Error(out)
	}
	if link := s.run(t, "readlink", "/etc/systemd/system/multi-user.target.wants/laststand.service"); !strings.Contains(link, "laststand.service") {
		t.Errorf("the unit is not enabled: %q", link)
	}
	if owner := s.run(t, "stat", "--format=%a %U:%G", config); owner != "640 root:laststand\n" {
		t.Errorf("the configuration file has %s", owner)
	}

	v := startService(t, s)
	v.await(t, "WATCHDOG=1")
	player := s.usePage(t)
	s.run(t, "laststand", "health", "--ready")
	if token := s.run(t, "laststand", "token", "--role=admin", "--sub=ops"); strings.Count(token, ".") != 2 {
		t.Errorf("the token is %q", token)
	}
	s.run(t, "sh", "-c", "laststand backup - >/root/backup") // the user laststand cannot write there
	v.stop(t)
	s.run(t, "sh", "-c", "mkdir /tmp/old && mv /var/lib/laststand/laststand.db* /tmp/old && laststand restore - </root/backup")
	s.run(t, "laststand", "bank", "check", "builtin") // opens the database while the service is stopped
	if others := s.run(t, "find", "/var/lib/laststand", "!", "-user", "laststand"); others != "" {
		t.Errorf("the commands of root left files that the service cannot write: %s", others)
	}

	edited := s.read(t, config) + "\ndrain: 1s # edited\n"
	s.write(t, config, edited)
	install(newDist, "laststand_0.1.1_amd64.deb")
	if got := s.read(t, config); got != edited {
		t.Error("the upgrade changed the edited configuration")
	}
	if out := s.run(t, "laststand", "version"); !strings.HasPrefix(out, "laststand 0.1.1 ") {
		t.Errorf("the version is %s", out)
	}
	v = startService(t, s)
	if after := s.usePage(t); after != player {
		t.Errorf("after a restore and the upgrade, the same device is player %s, before %s", after, player)
	}
	v.stop(t)

	s.run(t, "apt-get", "remove", "-y", "laststand")
	if got := s.read(t, config); got != edited {
		t.Error("the removal changed the edited configuration")
	}
	s.run(t, "apt-get", "purge", "-y", "laststand")
	checkOnlyDataIsLeft(t, s)
}

// usePage reads the page and the state of the server. It returns the player of a fixed device.
func (s *sandbox) usePage(t *testing.T) (player string) {
	t.Helper()
	if status, body := s.request(t, "GET", "/readyz", ""); status != 200 {
		t.Errorf("/readyz returns %d: %s", status, body)
	}
	if status, body := s.request(t, "GET", "/", ""); status != 200 || !strings.Contains(body, "<html") {
		t.Errorf("the page is %d: %.100s", status, body)
	}
	var guest struct {
		PlayerID string `json:"player_id"`
	}
	_, body := s.request(t, "POST", "/v1/games/demo/guests", `{"device":"device-of-the-package-test"}`)
	if err := json.Unmarshal([]byte(body), &guest); err != nil || guest.PlayerID == "" {
		t.Fatalf("no guest: %s", body)
	}
	return guest.PlayerID
}

// checkOnlyDataIsLeft looks for every file that the package or the service left behind.
func checkOnlyDataIsLeft(t *testing.T, s *sandbox) {
	t.Helper()
	var left []string
	var err error
	s.do(func() {
		err = filepath.WalkDir(filepath.Join(filepath.Dir(s.root), "upper"), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.Contains(entry.Name(), "laststand") {
				return err
			}
			if info, err := entry.Info(); err == nil && info.Mode()&fs.ModeCharDevice == 0 { // a character device marks a deleted file
				left = append(left, strings.SplitN(path, "/upper", 2)[1])
			}
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	})
	if err != nil || !slices.Equal(left, []string{"/var/lib/laststand"}) {
		t.Errorf("after the purge, these files are left: %q, %v", left, err)
	}
}
