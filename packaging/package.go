package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the packagers "deb" and "rpm" register themselves
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

func (r *release) writePackages(t target) error {
	for _, kind := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(kind)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(r.packageInfo(t, kind))
		var packed bytes.Buffer
		if err := packager.Package(info, &packed); err != nil {
			return err
		}
		err = r.writeFile(packager.ConventionalFileName(info), func(w io.Writer) error {
			_, err := packed.WriteTo(w)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// packageInfo describes a package. Owners, modes and times do not depend on the machine.
func (r *release) packageInfo(t target, kind string) *nfpm.Info {
	info := &nfpm.Info{
		Name: "laststand", Arch: t.arch, Platform: "linux", Version: r.version, MTime: r.time,
		Section: "net", Priority: "optional", Maintainer: "Laststand maintainers <maintainers@laststand.invalid>", License: "Apache-2.0",
		Description: "backend for live quiz matches\nPlayers meet over websockets in duels and arenas. The service starts with an embedded\ndatabase. /etc/laststand/laststand.yaml names a PostgreSQL and a Redis instead.",
	}
	info.Contents = r.packageContents(t, kind)
	if kind == "deb" {
		info.Depends = []string{"init-system-helpers", "systemd | systemd-standalone-sysusers | systemd-sysusers"}
		info.Recommends = []string{"ca-certificates"}
		info.Scripts = nfpm.Scripts{PostInstall: r.packagingFile("deb/postinst"), PreRemove: r.packagingFile("deb/prerm"), PostRemove: r.packagingFile("deb/postrm")}
		return info
	}
	info.Depends, info.Recommends = []string{"systemd", "util-linux"}, []string{"ca-certificates"}
	info.RPM.BuildHost = "laststand"
	info.Scripts = nfpm.Scripts{PostInstall: r.packagingFile("rpm/post"), PreRemove: r.packagingFile("rpm/preun"), PostRemove: r.packagingFile("rpm/postun")}
	return info
}

func (r *release) packageContents(t target, kind string) files.Contents {
	file := func(source, destination string, mode os.FileMode) *files.Content {
		return &files.Content{Source: source, Destination: destination, FileInfo: &files.ContentFileInfo{Mode: mode}}
	}
	config := file(r.packagingFile("laststand.yaml"), "/etc/laststand/laststand.yaml", 0o640)
	config.Type = files.TypeConfigNoReplace
	contents := files.Contents{
		{Destination: "/etc/laststand", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755}},
		config,
		file(r.binary(t), "/usr/lib/laststand/server", 0o755),
		file(r.packagingFile("command"), "/usr/bin/laststand", 0o755),
		file(r.packagingFile("laststand.service"), "/usr/lib/systemd/system/laststand.service", 0o644),
		file(r.packagingFile("sysusers.conf"), "/usr/lib/sysusers.d/laststand.conf", 0o644),
		file(filepath.Join(r.root, "CHANGELOG.md"), "/usr/share/doc/laststand/CHANGELOG.md", 0o644),
		file(filepath.Join(r.work, licenseFile), "/usr/share/doc/laststand/"+licenseFile, 0o644),
	}
	license := "/usr/share/doc/laststand/copyright"
	if kind == "rpm" {
		license = "/usr/share/licenses/laststand/LICENSE"
	}
	return append(contents, file(filepath.Join(r.root, "LICENSE"), license, 0o644))
}

func (r *release) packagingFile(name string) string {
	return filepath.Join(r.root, "packaging/files", name)
}
