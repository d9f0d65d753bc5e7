package main

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM lists what the binaries contain, in the format CycloneDX: the modules from the
// binaries themselves, and the libraries of the page.
func (r *release) writeSBOM() error {
	page, err := r.pageLibraries()
	if err != nil {
		return err
	}
	bom := cdx.NewBOM()
	server := component("laststand", r.version, "pkg:generic/laststand@"+r.version)
	server.Type = cdx.ComponentTypeApplication
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339), Component: &server,
		Properties: &[]cdx.Property{{Name: "laststand:revision", Value: r.revision}},
	}
	components := page
	for _, path := range slices.Sorted(maps.Keys(r.modules)) {
		components = append(components, r.modules[path].component())
	}
	bom.Components = &components
	return r.writeFile("laststand_"+r.version+".cdx.json", func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

func component(name, version, purl string) cdx.Component {
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
}

// component describes a module. The checksum of go.sum, "h1:" and base64, is a SHA-256 of the files.
func (m module) component() cdx.Component {
	c := component(m.path, m.version, "pkg:golang/"+m.path+"@"+m.version)
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return c
}

var vendoredName = regexp.MustCompile(`^(.+)-([0-9][0-9.]*)\.LICENSE\.txt$`)

// pageLibraries returns the npm packages that are in the repository with their licences.
func (r *release) pageLibraries() (libraries []cdx.Component, err error) {
	files, err := filepath.Glob(filepath.Join(r.root, "web/static/vendor/*.LICENSE.txt"))
	for _, file := range files {
		if found := vendoredName.FindStringSubmatch(filepath.Base(file)); found != nil {
			libraries = append(libraries, component(found[1], found[2], "pkg:npm/"+found[1]+"@"+found[2]))
		}
	}
	return libraries, err
}
