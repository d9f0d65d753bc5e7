package main

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// readAxe returns axe-core, the library that finds faults of accessibility in a page.
var readAxe = sync.OnceValues(func() (string, error) {
	f, err := os.Open("testdata/axe-core-4.14.1.min.js.gz")
	if err != nil {
		return "", err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
})

// seriousFaults is a script that lists the faults of a page that axe-core calls serious or critical.
const seriousFaults = `axe.run().then(({violations}) => violations.filter(({impact}) => ['serious', 'critical'].includes(impact))
	.map(({id, help, nodes}) => id + ': ' + help + '\n  ' + nodes[0].html + '\n  ' + nodes[0].failureSummary))`

// checkAccessibility fails the test if axe-core finds a serious fault in what a tab shows.
func (p *tab) checkAccessibility(state string) {
	p.Helper()
	axe := testenv.Need(readAxe())(p.T)
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string](axe+"; ''")); err != nil {
		p.Fatal(err)
	}
	faults, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](seriousFaults, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", state, err)
	}
	for _, fault := range faults {
		p.Errorf("%s: %s", state, fault)
	}
}
