package redisx

import (
	"io/fs"
	"strings"
)

// JoinScript returns a script that consists of the files NAME.lua in sources, in the order of
// names. The files run one after the other with the same KEYS and ARGV. A later file can
// use the local variables of earlier files. JoinScript panics if a file is missing.
func JoinScript(sources fs.FS, names ...string) string {
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
