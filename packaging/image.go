package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is the user and group of the server in a container. The image has no user of this name
// on the host.
const imageUser = 65532

// imageConfig is how a container runs the server. deploy/Dockerfile has the same; a test compares.
func imageConfig() v1.Config {
	return v1.Config{
		User:         "65532:65532",
		Entrypoint:   []string{"/server"},
		Env:          []string{"PATH=/", "TMPDIR=/data", "LASTSTAND_LISTEN=:8080", "LASTSTAND_DATA=/data"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		WorkingDir:   "/data",
		StopSignal:   "SIGTERM",
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/server", "health"}, Interval: 10 * time.Second, Timeout: 6 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
	}
}

// writeImage writes a container image from scratch. The file is an OCI layout that `docker load` and
// `podman load` read too.
func (r *release) writeImage(t target) error {
	image, err := r.image(t)
	if err != nil {
		return err
	}
	files, err := r.layoutFiles(image, t)
	if err != nil {
		return err
	}
	return r.writeFile("laststand_"+r.version+"_linux_"+t.arch+".oci.tar", func(w io.Writer) error {
		return writeTar(w, r.time, files)
	})
}

// image has one layer: the server, its user, its folder and the licences.
func (r *release) image(t target) (v1.Image, error) {
	var root bytes.Buffer
	err := writeTar(&root, r.time, []tarFile{
		{path: "data/", mode: 0o755, owner: imageUser},
		{path: "etc/group", content: []byte("laststand:x:65532:\n"), mode: 0o644},
		{path: "etc/passwd", content: []byte("laststand:x:65532:65532::/data:/sbin/nologin\n"), mode: 0o644},
		{path: "server", source: r.binary(t), mode: 0o755},
		{path: "usr/share/doc/laststand/LICENSE", source: filepath.Join(r.root, "LICENSE"), mode: 0o644},
		{path: "usr/share/doc/laststand/" + licenseFile, source: filepath.Join(r.work, licenseFile), mode: 0o644},
	})
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(root.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	at := v1.Time{Time: r.time}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: at, CreatedBy: "./release"}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", t.arch, at, imageConfig()
	file.Config.Labels = map[string]string{
		"org.opencontainers.image.title": "laststand", "org.opencontainers.image.version": r.version,
		"org.opencontainers.image.revision": r.revision, "org.opencontainers.image.licenses": "Apache-2.0",
	}
	return mutate.ConfigFile(image, file)
}

// layoutFiles returns the files of an OCI layout with one image, and manifest.json, which older
// versions of Docker read.
func (r *release) layoutFiles(image v1.Image, t target) (files []tarFile, err error) {
	tag := strings.ReplaceAll(r.version, "+", "-") // a tag has no plus sign
	folder := filepath.Join(r.work, "image_"+t.arch)
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return nil, err
	}
	err = path.AppendImage(image, layout.WithPlatform(v1.Platform{OS: t.system, Architecture: t.arch}), layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": "docker.io/library/laststand:" + tag, "org.opencontainers.image.ref.name": tag,
	}))
	if err != nil {
		return nil, err
	}
	if err := writeDockerManifest(image, filepath.Join(folder, "manifest.json"), "laststand:"+tag); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(folder, func(source string, entry fs.DirEntry, err error) error { // sorted
		if err == nil && !entry.IsDir() {
			files = append(files, tarFile{path: strings.TrimPrefix(source, folder+"/"), source: source, mode: 0o644})
		}
		return err
	})
	return files, err
}

func writeDockerManifest(image v1.Image, path, tag string) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	blob := func(d v1.Descriptor) string { return "blobs/" + d.Digest.Algorithm + "/" + d.Digest.Hex }
	content, err := json.Marshal(tarball.Manifest{{Config: blob(manifest.Config), RepoTags: []string{tag}, Layers: []string{blob(manifest.Layers[0])}}})
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
