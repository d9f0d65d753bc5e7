package redisx

import (
	"io/fs"
	"strconv"
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

// Reply is the reply of a script, or a list in a reply. Its methods return the zero value
// if the element is missing or has another type.
type Reply []any

// element returns nil if there is no element i.
func (r Reply) element(i int) any {
	if i >= len(r) {
		return nil
	}
	return r[i]
}

// List returns element i as a list.
func (r Reply) List(i int) Reply {
	list, _ := r.element(i).([]any)
	return list
}

// Texts returns element i as a list of texts. Elements of another type are "".
func (r Reply) Texts(i int) []string {
	list := r.List(i)
	var texts []string
	for i := range list {
		texts = append(texts, list.Text(i))
	}
	return texts
}

// Text returns element i as a text.
func (r Reply) Text(i int) string {
	text, _ := r.element(i).(string)
	return text
}

// Number returns element i as a whole number. The element may be an integer or a text.
func (r Reply) Number(i int) int64 {
	switch value := r.element(i).(type) {
	case int64:
		return value
	case string:
		parsed, _ := strconv.ParseInt(value, 10, 64) // 0 if the text is not a whole number
		return parsed
	}
	return 0
}
