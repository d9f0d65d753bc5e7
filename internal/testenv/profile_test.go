package testenv

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Profile writes a file for each of the two profiles, which cover the same seconds. If the node
// refuses, it returns an error and writes no file.
func TestProfileWritesBothProfilesOrNone(t *testing.T) {
	t.Parallel()
	ops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer admin" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(r.URL.String()))
	}))
	t.Cleanup(ops.Close)
	node, dir := &Node{OpsURL: ops.URL, admin: "admin"}, t.TempDir()
	if err := node.Profile(t.Context(), filepath.Join(dir, "run"), 4); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"profile", "allocs"} {
		got, err := os.ReadFile(filepath.Join(dir, "run."+kind))
		if want := "/debug/pprof/" + kind + "?seconds=4"; err != nil || string(got) != want {
			t.Errorf("the file of %s has %q, %v, want %q", kind, got, err, want)
		}
	}
	node.admin = "nobody"
	if err := node.Profile(t.Context(), filepath.Join(dir, "refused"), 4); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("Profile of a node that refuses returned %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "refused.allocs")); !os.IsNotExist(err) {
		t.Errorf("a refused profile has a file: %v", err)
	}
}
