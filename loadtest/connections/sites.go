package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// profileEvery is how many bytes are allocated between two samples of a profile, on
// the average: the fewer the more exact.
const profileEvery = 1024

// shown is how many lines of sites are told.
const shown = 24

// sites are the bytes alive of a heap profile, by who has allocated them: the
// function, and the nearest of ours that called it.
type sites map[string]float64

// readSites reads a heap profile as text (runtime/pprof, debug=1). It tells what was
// sampled; an object of so many bytes is with a probability that is known.
func readSites(profile []byte) sites {
	all := sites{}
	var bytesOf float64
	var stack []string
	note := func() {
		if len(stack) > 0 {
			all[site(stack)] += bytesOf
		}
		stack = nil
	}
	lines := bufio.NewScanner(bytes.NewReader(profile))
	for lines.Scan() {
		line := lines.Text()
		var count, size float64
		switch {
		case strings.HasPrefix(line, "#\t0x"):
			if parts := strings.Split(line, "\t"); len(parts) > 2 {
				name, _, _ := strings.Cut(parts[2], "+0x")
				stack = append(stack, name)
			}
		default:
			note()
			if n, _ := fmt.Sscanf(line, "%f: %f [", &count, &size); n == 2 && count > 0 {
				bytesOf = size / (1 - math.Exp(-size/count/profileEvery))
			} else {
				bytesOf = 0
			}
		}
	}
	note()
	return all
}

// site names who allocates: the first function that is not the runtime's, and the
// first of ours.
func site(stack []string) string {
	first := stack[len(stack)-1]
	for _, name := range stack {
		if !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/") {
			first = name
			break
		}
	}
	for _, name := range stack {
		if ours, ok := strings.CutPrefix(name, "laststand/"); ok {
			if name != first {
				return first + " for " + ours
			}
			return ours
		}
	}
	return first
}

// show tells what each connection has of what is alive, and who has allocated it.
func (s sites) show(before sites, connections int) {
	grown := sites{}
	total := 0.0
	for at, size := range s {
		if each := (size - before[at]) / float64(connections); each >= 1 {
			grown[at] = each
			total += each
		}
	}
	order := slices.SortedFunc(maps.Keys(grown), func(a, b string) int { return cmp.Compare(grown[b], grown[a]) })
	rest := total
	for _, at := range order[:min(len(order), shown)] {
		fmt.Printf("    %8.0f  %s\n", grown[at], at)
		rest -= grown[at]
	}
	fmt.Printf("    %8.0f  elsewhere\n    %8.0f  in all\n", rest, total)
}
