package lua

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	sources := fstest.MapFS{"a.lua": {Data: []byte("local a = 1\n")}, "b.lua": {Data: []byte("return a\n")}}
	if script := Join(sources, "a", "b"); script != "local a = 1\nreturn a\n" {
		t.Errorf("%q", script)
	}
	defer func() {
		if recover() == nil {
			t.Error("Join did not panic for a missing file")
		}
	}()
	Join(sources, "a", "c")
}

func TestReply(t *testing.T) {
	t.Parallel()
	r := Reply{"a", int64(7), "8", []any{"x", nil, "y"}, nil}
	if r.Text(0) != "a" || r.Text(1) != "" || r.Text(4) != "" || r.Text(9) != "" {
		t.Error("Text returned a wrong text")
	}
	if r.Number(1) != 7 || r.Number(2) != 8 || r.Number(0) != 0 || r.Number(4) != 0 || r.Number(9) != 0 {
		t.Error("Number returned a wrong number")
	}
	if !slices.Equal(r.Texts(3), []string{"x", "", "y"}) || r.Texts(0) != nil || r.Texts(9) != nil {
		t.Error("Texts returned wrong texts")
	}
	if l := r.List(3); len(l) != 3 || l.Text(2) != "y" || r.List(4) != nil || r.List(9) != nil {
		t.Error("List returned a wrong list")
	}
}
