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

// profileEvery is the mean number of bytes between two samples of a profile. A lower value
// is more accurate.
const profileEvery = 1024

// shown is the number of sites that are printed.
const shown = 24

// sites are the live bytes of a heap profile by allocation site. A site is the allocating
// function and the nearest Laststand function that called it.
type sites map[string]float64

// readSites reads a heap profile as text (runtime/pprof, debug=1). The profile contains
// samples; the probability of sampling an object is known from its size.
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

// site names the allocation site of a stack: the first function outside the runtime, and
// the first function of Laststand.
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

// show prints the live bytes per connection and their allocation sites.
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
