package lua

import (
	"io/fs"
	"strings"
)

// Join returns a script that consists of the files NAME.lua in sources, in the order of
// names. The files run one after the other with the same KEYS and ARGV. A later file can
// use the local variables of earlier files. Join panics if a file is missing.
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
