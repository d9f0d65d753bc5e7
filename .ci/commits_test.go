// Package ci_test tests the scripts of the test command.
package ci_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git in a repository without the settings of the machine.
func git(t *testing.T, folder string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// checkCommits runs the check over a folder from the tag base on.
func checkCommits(t *testing.T, folder string) (exitCode int, out string) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "./commits", folder, "base").CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(text)
}

func TestSubjectsAreChecked(t *testing.T) {
	t.Parallel()
	const length72 = "internal/ws: "
	for subject, want := range map[string]string{
		"ws: close idle sessions":                          "",
		"loadtest/hostile, .ci: play arenas":               "",
		length72 + strings.Repeat("é", 72-len(length72)):   "",
		length72 + strings.Repeat("é", 73-len(length72)):   "73 characters, at most 72",
		"Close idle sessions":                              "area: summary",
		"ws:close idle sessions":                           "area: summary",
		"Who is refused for lack of room: asks half often": "area: summary",
	} {
		folder := t.TempDir()
		git(t, folder, "init", "-q")
		git(t, folder, "commit", "-q", "--allow-empty", "-m", "An old subject, which is not checked")
		git(t, folder, "tag", "base")
		git(t, folder, "commit", "-q", "--allow-empty", "-m", subject)
		git(t, folder, "commit", "-q", "--allow-empty", "-m", "docs: add nothing")
		wantCode, wantLines := 0, 0
		if want != "" {
			wantCode, wantLines = 1, 1
		}
		code, out := checkCommits(t, folder)
		if code != wantCode || strings.Count(out, "\n") != wantLines || !strings.Contains(out, want) {
			t.Errorf("%q: the check ended with %d and printed %q; want %d and %q", subject, code, out, wantCode, want)
		}
	}
}

// A file that a later commit deletes stays in the history, and so in every clone.
func TestLargeFilesAreFound(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]string{300_000: "", 300_001: "server/program: a commit adds 300001 bytes"} {
		folder := t.TempDir()
		git(t, folder, "init", "-q")
		git(t, folder, "commit", "-q", "--allow-empty", "-m", "docs: add nothing")
		git(t, folder, "tag", "base")
		if err := os.Mkdir(filepath.Join(folder, "server"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "server", "program"), make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		git(t, folder, "add", "-A")
		git(t, folder, "commit", "-q", "-m", "server: add a program")
		git(t, folder, "rm", "-q", "server/program")
		git(t, folder, "commit", "-q", "-m", "server: delete the program")
		wantCode := 0
		if want != "" {
			wantCode = 1
		}
		if code, out := checkCommits(t, folder); code != wantCode || !strings.Contains(out, want) {
			t.Errorf("%d bytes: the check ended with %d and printed %q; want %d and %q", bytes, code, out, wantCode, want)
		}
	}
}

func TestSubjectsNeedTheHistory(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if code, out := checkCommits(t, folder); code != 3 {
		t.Errorf("outside a checkout the check ended with %d and printed %q, want 3", code, out)
	}
	git(t, folder, "init", "-q")
	git(t, folder, "commit", "-q", "--allow-empty", "-m", "docs: add nothing")
	if code, out := checkCommits(t, folder); code != 3 {
		t.Errorf("without the base the check ended with %d and printed %q, want 3", code, out)
	}
}
