package web

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The paths of the bundles, without the hash of the content.
const (
	scriptBundle = "/assets/app.js"
	styleBundle  = "/assets/page.css"
)

// bundle joins the modules and the stylesheets of a tree into two minified files. They import
// everything that the page needs.
func bundle(tree fs.FS) (assets, error) {
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{"app.js", "css/page.css"}, EntryNames: "[name]-[hash]", Outdir: "/assets", AbsWorkingDir: "/",
		Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Plugins: []api.Plugin{readFrom(tree)}, LogLevel: api.LogLevelSilent,
	})
	if len(built.Errors) > 0 {
		return nil, asError(built.Errors)
	}
	bundles := assets{}
	for _, output := range built.OutputFiles {
		bundles.add(output.Path, output.Contents)
	}
	return bundles, nil
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
