package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// events writes "package test action" lines as events; a fourth field is output.
func events(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		f := append(strings.SplitN(line, " ", 4), "")
		test := strings.Trim(f[1], "-")
		fmt.Fprintf(&b, `{"Action":%q,"Package":%q,"Test":%q,"Output":%q}`+"\n", f[2], f[0], test, f[3])
	}
	return b.String()
}

func TestTally(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in    string
		want  counts
		shown []string
	}{
		"leaves": {
			events("p A run", "p A/1 run", "p A/1 pass", "p A/2 run", "p A/2 pass", "p A pass", "p B run", "p B pass", "p - pass"),
			counts{passed: 3}, []string{"ok", "3 tests"},
		},
		"a leaf fails": {
			events("p A run", "p A/1 run", "p A/1 output === PAUSE quiet", "p A/1 output because", "p A/1 fail", "p A/2 run", "p A/2 output quiet", "p A/2 pass", "p A fail", "p - fail"),
			counts{passed: 1, failed: 1}, []string{"FAIL", "1 of 2", "because"},
		},
		"a parent fails by itself": {
			events("p A run", "p A/1 run", "p A/1 pass", "p A output because", "p A fail", "p - fail"),
			counts{passed: 1, failed: 1}, []string{"because"},
		},
		"a skip is named": {
			events("p A run", "p A/1 run", "p A/1 skip", "p A pass", "p - pass"),
			counts{skipped: 1}, []string{"skipped: p A/1"},
		},
		"the package fails by itself": {
			events("p A run", "p A pass", "p - output goroutines left over", "p - fail"),
			counts{passed: 1, failed: 1}, []string{"goroutines left over"},
		},
		"a test never ends": {
			events("p A run", "p A output panic: at line 3", "p - fail"),
			counts{failed: 1}, []string{"panic: at line 3"},
		},
		"the stream never ends": {
			events("p A run", "p A pass", "p B run"),
			counts{passed: 1, failed: 1}, []string{"FAIL"},
		},
		"a package without tests": {
			events("p - output ?p[no test files]", "p - skip"),
			counts{}, []string{"none  p"},
		},
		"what does not build": {
			`{"ImportPath":"p [p.test]","Action":"build-output","Output":"a.go:1: undefined"}` + "\n" +
				`{"ImportPath":"p [p.test]","Action":"build-fail"}` + "\n" + events("p - fail"),
			counts{failed: 1}, []string{"a.go:1: undefined"},
		},
		"what is no event": {"go: no such module\n", counts{}, []string{"go: no such module"}},
		"two at the same time": {
			events("p A run", "q A run", "p A fail", "q A pass", "p - fail", "q - pass"),
			counts{passed: 1, failed: 1}, []string{"FAIL  p", "ok    q"},
		},
	}
	for name, test := range tests {
		var out strings.Builder
		screen := bufio.NewWriter(&out)
		got, err := tally(strings.NewReader(test.in), screen)
		screen.Flush()
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v, want %+v\n%s", name, got, err, test.want, out.String())
		}
		for _, shown := range test.shown {
			if !strings.Contains(out.String(), shown) {
				t.Errorf("%s: does not show %q:\n%s", name, shown, out.String())
			}
		}
		if strings.Contains(out.String(), "quiet") {
			t.Errorf("%s: shows what a test that passed had to say:\n%s", name, out.String())
		}
	}
}

func TestTheSlowestAreNamed(t *testing.T) {
	t.Parallel()
	var in, out strings.Builder
	for i := range slowShown + 1 { // T1 takes 1 s, of which its subtest says nothing
		fmt.Fprintf(&in, `{"Action":"pass","Package":"p","Test":"T%d/sub","Elapsed":%d}`+"\n", i, i)
		fmt.Fprintf(&in, `{"Action":"pass","Package":"p","Test":"T%d","Elapsed":%d}`+"\n", i, i)
	}
	in.WriteString(events("p - pass"))
	screen := bufio.NewWriter(&out)
	_, err := tally(strings.NewReader(in.String()), screen)
	if err := errors.Join(err, screen.Flush()); err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(out.String(), "slow  ")
	if !strings.HasPrefix(shown, fmt.Sprintf("p T%d ", slowShown)) || strings.Count(shown, "slow  ") != slowShown-1 ||
		strings.Contains(shown, "sub") || strings.Contains(shown, "p T0 ") {
		t.Errorf("shows\n%s", out.String())
	}
}

func TestRunWritesTheCounts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "counts")
	var out strings.Builder
	if err := run([]string{file}, strings.NewReader(events("p A skip", "p B pass", "p - pass")), &out); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "1 0 1\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := run(nil, strings.NewReader(""), &out); err == nil {
		t.Error("no file for the counts, and no error")
	}
}
