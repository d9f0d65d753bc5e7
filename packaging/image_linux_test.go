package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/sys/unix"
)

// maxImageSize is the promised size of the file of the image.
const maxImageSize = 40_000_000

// checkImage reads the image in both of its forms. Then it runs the files of the image with a read-only
// root, as the image's user.
func checkImage(t *testing.T, dist string) {
	path := filepath.Join(dist, "laststand_0.1.0_linux_amd64.oci.tar")
	if info, err := os.Stat(path); err != nil || info.Size() > maxImageSize {
		t.Errorf("the image has %d bytes, more than %d; %v", info.Size(), maxImageSize, err)
	}
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	folder := t.TempDir()
	if out, err := command(folder, "tar", "-xf", path); err != nil {
		t.Fatal(out)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	checkContainer(t, image, file.Config)
}

// mountImage unpacks an image into a read-only root with a writable volume at /data.
func mountImage(image v1.Image) func(folder string) (root string, err error) {
	return func(folder string) (root string, err error) {
		root = filepath.Join(folder, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			return "", err
		}
		if err := unpack(image, root); err != nil {
			return "", err
		}
		if err := unix.Mount(root, root, "", unix.MS_BIND, ""); err != nil {
			return "", err
		}
		if err := unix.Mount("", root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return "", err
		}
		return root, unix.Mount("tmpfs", root+"/data", "tmpfs", 0, fmt.Sprintf("uid=%d,gid=%[1]d,mode=0755", imageUser))
	}
}

func unpack(image v1.Image, root string) error {
	files := mutate.Extract(image)
	defer files.Close()
	for reader := tar.NewReader(files); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(root, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, header.FileInfo().Mode())
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			var content []byte
			if content, err = io.ReadAll(reader); err == nil {
				err = os.WriteFile(path, content, header.FileInfo().Mode())
			}
		}
		if err != nil {
			return err
		}
	}
}

// checkContainer runs the server as a container would, and its health check.
func checkContainer(t *testing.T, image v1.Image, config v1.Config) {
	s := newSandbox(t, mountImage(image))
	start := func(args []string, output io.Writer) (cmd *exec.Cmd, err error) {
		cmd = exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = config.WorkingDir, config.Env, output, output
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}, Pdeathsig: syscall.SIGKILL}
		s.do(func() { err = cmd.Start() })
		return cmd, err
	}
	isHealthy := func() bool {
		cmd, err := start(config.Healthcheck.Test[1:], io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return cmd.Wait() == nil
	}
	var log lockedBuffer
	server, err := start(config.Entrypoint, &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() })
	for deadline := time.Now().Add(20 * time.Second); !isHealthy(); {
		if time.Now().After(deadline) {
			t.Fatalf("the server is not healthy\n%s", log.String())
		}
	}
	s.usePage(t)
	s.do(func() { err = os.WriteFile(s.path("/file"), nil, 0o600) })
	if !errors.Is(err, unix.EROFS) {
		t.Errorf("the root is not read-only: %v", err)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, log.String())
	}
	if isHealthy() {
		t.Error("a stopped server is healthy")
	}
}

// The last stage of the Dockerfile has the settings of the image.
func TestTheDockerfileHasTheSettingsOfTheImage(t *testing.T) {
	t.Parallel()
	_, stage, _ := strings.Cut(readText(t, "../deploy/Dockerfile"), "\nFROM scratch\n")
	c := imageConfig()
	h := c.Healthcheck
	want := "COPY --from=build /root-folder /\nUSER " + c.User + "\nENV " + strings.Join(c.Env, " ") +
		"\nEXPOSE 8080/tcp\nVOLUME /data\nWORKDIR " + c.WorkingDir + "\nSTOPSIGNAL " + c.StopSignal +
		fmt.Sprintf("\nHEALTHCHECK --interval=%s --timeout=%s --start-period=%s --retries=%d CMD [%q,%q]\nENTRYPOINT [%q]\n",
			h.Interval, h.Timeout, h.StartPeriod, h.Retries, h.Test[1], h.Test[2], c.Entrypoint[0])
	if stage != want {
		t.Errorf("the last stage of the Dockerfile is\n%s\nwant\n%s", stage, want)
	}
}
