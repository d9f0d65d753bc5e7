// Package lua is what the scripts of all adapters to Redis share: how they are
// put together, and how their replies are read.
package lua

import (
	"io/fs"
	"strings"
)

// Join makes a script of embedded pieces, NAME.lua each, that run one after the
// other with the same KEYS and ARGV; a later piece sees the locals of those
// before it. A piece that is missing panics.
func Join(sources fs.FS, names ...string) string {
	var script strings.Builder
	for _, name := range names {
		piece, err := fs.ReadFile(sources, name+".lua")
		if err != nil {
			panic(err)
		}
		script.Write(piece)
	}
	return script.String()
}
