package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is a line of `go test -json`; `go doc test2json` says what it means.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build, instead of Package
	Test       string
	Elapsed    float64
	Output     string
}

type counts struct{ passed, failed, skipped int }

// took is how long a test ran, its subtests included, in seconds.
type took struct {
	name    string
	seconds float64
}

// slowShown is how many of the slowest tests are named.
const slowShown = 12

// suite is what is known of a package until it ends.
type suite struct {
	name   string
	order  []string          // the tests as they began
	state  map[string]string // by test; that of "" is the package's
	output map[string]*strings.Builder
	took   []took
}

// tally shows each package as it ends. Lines that are no events, as a failing
// go command prints, are shown as they are.
func tally(in io.Reader, out *bufio.Writer) (counts, error) {
	var sum counts
	var skipped []string
	var slow []took
	suites := map[string]*suite{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(out, "%s\n", strings.TrimRight(string(line), "\n"))
			} else if done := record(suites, e); done != nil {
				sum.add(done.show(out, e.Elapsed))
				skipped = append(skipped, done.skipped()...)
				slow = slowest(append(slow, done.took...))
				out.Flush()
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return sum, err
		}
	}
	for _, cut := range suites {
		cut.state[""] = "cut short"
		sum.add(cut.show(out, 0))
	}
	for _, t := range slow {
		fmt.Fprintf(out, "slow  %-60s %7.1f s\n", t.name, t.seconds)
	}
	for _, name := range skipped {
		fmt.Fprintf(out, "skipped: %s\n", name)
	}
	return sum, nil
}

// record notes the event and returns the suite that it ends, if it does.
func record(suites map[string]*suite, e event) *suite {
	name := e.Package
	if name == "" { // a build: "pkg [pkg.test]"
		name, _, _ = strings.Cut(e.ImportPath, " ")
	}
	s := suites[name]
	if s == nil {
		s = &suite{name: name, state: map[string]string{}, output: map[string]*strings.Builder{"": {}}}
		suites[name] = s
	}
	if _, seen := s.output[e.Test]; !seen {
		s.order = append(s.order, e.Test)
		s.output[e.Test] = &strings.Builder{}
	}
	if !strings.HasPrefix(e.Output, "=== ") { // began, paused, went on
		s.output[e.Test].WriteString(e.Output)
	}
	switch e.Action {
	case "pass", "fail", "skip":
		s.state[e.Test] = e.Action
		if e.Test == "" {
			delete(suites, name)
			return s
		}
		if parent(e.Test) == "" {
			s.took = append(s.took, took{name + " " + e.Test, e.Elapsed})
		}
	}
	return nil
}

// slowest keeps the slowest, the slowest first.
func slowest(all []took) []took {
	slices.SortFunc(all, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	return all[:min(len(all), slowShown)]
}

// show prints the package and returns what it counts.
func (s *suite) show(out io.Writer, elapsed float64) counts {
	sum, failed := s.count()
	if len(s.order) == 0 && s.state[""] == "skip" {
		fmt.Fprintf(out, "none  %s\n", s.name)
		return counts{}
	}
	if sum.failed == 0 {
		fmt.Fprintf(out, "ok    %-44s %4d tests %7.1f s\n", s.name, sum.passed, elapsed)
		return sum
	}
	fmt.Fprintf(out, "FAIL  %-44s %4d of %d tests\n", s.name, sum.failed, sum.passed+sum.failed)
	for _, name := range failed {
		fmt.Fprint(out, s.output[name].String())
	}
	if !slices.Contains(failed, "") {
		fmt.Fprint(out, s.output[""].String())
	}
	return sum
}

// count returns the leaves by how they ended, and every test, leaf or not,
// that did not end well.
func (s *suite) count() (sum counts, failed []string) {
	parents := map[string]bool{}
	blamed := map[string]bool{} // has a descendant that failed
	for _, name := range s.order {
		for above := parent(name); above != ""; above = parent(above) {
			parents[above] = true
			blamed[above] = blamed[above] || bad(s.state[name])
		}
	}
	for _, name := range s.order {
		switch {
		case bad(s.state[name]):
			failed = append(failed, name)
			if !blamed[name] {
				sum.failed++
			}
		case s.state[name] == "skip":
			sum.skipped++
		case !parents[name]:
			sum.passed++
		}
	}
	if sum.failed == 0 && bad(s.state[""]) {
		sum.failed++
		failed = append(failed, "")
	}
	return sum, failed
}

// bad holds for a failure and for a test that never ended.
func bad(state string) bool { return state != "pass" && state != "skip" }

// parent of a/b/c is a/b; of a, "".
func parent(name string) string {
	return name[:max(0, strings.LastIndex(name, "/"))]
}

func (s *suite) skipped() []string {
	var names []string
	for _, name := range s.order {
		if s.state[name] == "skip" {
			names = append(names, s.name+" "+name)
		}
	}
	return names
}

func (c *counts) add(more counts) {
	c.passed += more.passed
	c.failed += more.failed
	c.skipped += more.skipped
}
