package web

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The files of the tree that the index names. They import everything else that the page needs.
const (
	scriptEntry = "app.js"
	styleEntry  = "css/page.css"
)

var entryPoints = []string{scriptEntry, styleEntry}

// bundle joins the modules and the stylesheets into one minified file per entry point. It
// returns the files by URL path, and the URL path of each entry point. The path contains a
// hash of the content.
func bundle(tree fs.FS) (files map[string]file, urls map[string]string, err error) {
	built := api.Build(api.BuildOptions{
		EntryPoints: entryPoints, EntryNames: "[name]-[hash]", Outdir: "/assets", AbsWorkingDir: "/",
		Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Plugins: []api.Plugin{readFrom(tree)}, LogLevel: api.LogLevelSilent,
	})
	if len(built.Errors) > 0 {
		return nil, nil, asError(built.Errors)
	}
	files, urls = map[string]file{}, map[string]string{}
	for _, output := range built.OutputFiles {
		extension := path.Ext(output.Path)
		content := newFile(output.Contents, contentTypes[extension])
		content.isImmutable = true
		files[output.Path] = content
		for _, entry := range entryPoints {
			if path.Ext(entry) == extension {
				urls[entry] = output.Path
			}
		}
	}
	return files, urls, nil
}

// readFrom lets the bundler read modules from a tree in place of a disk.
func readFrom(tree fs.FS) api.Plugin {
	const namespace = "tree"
	resolve := func(args api.OnResolveArgs) (api.OnResolveResult, error) {
		name := args.Path
		if args.Kind != api.ResolveEntryPoint {
			name = path.Join(path.Dir(args.Importer), args.Path)
		}
		return api.OnResolveResult{Path: name, Namespace: namespace}, nil
	}
	load := func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		source, err := fs.ReadFile(tree, args.Path)
		if err != nil {
			return api.OnLoadResult{}, fmt.Errorf("web: read: %w", err)
		}
		contents, loader := string(source), api.LoaderJS
		if strings.HasSuffix(args.Path, ".css") {
			loader = api.LoaderCSS
		}
		return api.OnLoadResult{Contents: &contents, Loader: loader}, nil
	}
	return api.Plugin{Name: namespace, Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, resolve)
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, load)
	}}
}

func asError(messages []api.Message) error {
	texts := api.FormatMessages(messages, api.FormatMessagesOptions{})
	return errors.New("web: bundle: " + strings.Join(texts, "; "))
}
