package redisx

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestJoinScriptConcatenatesFiles(t *testing.T) {
	t.Parallel()
	sources := fstest.MapFS{"a.lua": {Data: []byte("local a = 1\n")}, "b.lua": {Data: []byte("return a\n")}}
	if script := JoinScript(sources, "a", "b"); script != "local a = 1\nreturn a\n" {
		t.Errorf("%q", script)
	}
	defer func() {
		if recover() == nil {
			t.Error("JoinScript did not panic for a missing file")
		}
	}()
	JoinScript(sources, "a", "c")
}

func TestReplyReadsMissingValuesAsEmpty(t *testing.T) {
	t.Parallel()
	reply := Reply{"a", int64(7), "8", []any{"x", nil, "y"}, nil}
	if reply.Text(0) != "a" || reply.Text(1) != "" || reply.Text(4) != "" || reply.Text(9) != "" {
		t.Error("Text returned a wrong text")
	}
	if reply.Number(1) != 7 || reply.Number(2) != 8 || reply.Number(0) != 0 || reply.Number(4) != 0 || reply.Number(9) != 0 {
		t.Error("Number returned a wrong number")
	}
	if !slices.Equal(reply.Texts(3), []string{"x", "", "y"}) || reply.Texts(0) != nil || reply.Texts(9) != nil {
		t.Error("Texts returned wrong texts")
	}
	if list := reply.List(3); len(list) != 3 || list.Text(2) != "y" || reply.List(4) != nil || reply.List(9) != nil {
		t.Error("List returned a wrong list")
	}
}
