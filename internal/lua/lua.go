package lua

import (
	"io/fs"
	"strings"
)

// Join returns a script that consists of embedded files, NAME.lua each. They run one
// after the other with the same KEYS and ARGV. A later file sees the local variables of
// earlier ones. Join panics if a file is missing.
func Join(sources fs.FS, names ...string) string {
	var script strings.Builder
	for _, name := range names {
		content, err := fs.ReadFile(sources, name+".lua")
		if err != nil {
			panic(err)
		}
		script.Write(content)
	}
	return script.String()
}
