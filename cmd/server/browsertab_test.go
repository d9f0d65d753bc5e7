package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// tab is a tab of a browser that a test drives. Errors in its console, failed requests and
// files that its policy refuses fail the test.
type tab struct {
	*testing.T
	ctx   context.Context
	score int // the score that the page showed last
	rival int // the score of the opponent that it showed then
}

// browser is a running Chromium.
type browser struct {
	*testing.T
	ctx context.Context
}

// newBrowser starts a Chromium for the test alone, with more flags.
func newBrowser(t *testing.T, executable string, flags ...chromedp.ExecAllocatorOption) browser {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(executable), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox,
		chromedp.Flag("headless", "new"), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "en-US"), chromedp.WindowSize(1000, 900),
		chromedp.WSURLReadTimeout(time.Minute))
	options = append(options, flags...)
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("the browser did not stop cleanly: %v", err)
		}
		stopAllocator()
		chromedp.FromContext(allocator).Allocator.Wait()
	})
	testenv.NoError(t, chromedp.Do(ctx))
	return browser{t, ctx}
}

// open opens an address in a new tab.
func (b browser) open(url string) *tab {
	b.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	p := &tab{T: b.T, ctx: ctx}
	messages := chromedp.Console(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for m, err := range messages {
			if err != nil {
				return // the tab is closed
			}
			if m.IsException() || m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning {
				p.Errorf("%s: the console has %s %s", url, m, m.URL)
			}
		}
	})
	p.Cleanup(func() { closeTab(); watching.Wait() })
	p.runSteps(chromedp.Navigate(url))
	return p
}

// runSteps runs the steps, which may take up to 30 s together.
func (p *tab) runSteps(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatalf("%v; the page shows\n%s", err, p.visibleText())
	}
}

// byName selects the elements whose attribute data-test is name.
func byName(name string) chromedp.CSS { return chromedp.CSS(`[data-test="` + name + `"]`) }

// byNameAndData selects the elements with a name whose attribute data-KEY has a value.
func byNameAndData(name, key string, value any) chromedp.CSS {
	return chromedp.CSS(fmt.Sprintf(`[data-test=%q][data-%s="%v"]`, name, key, value))
}

// click clicks on the elements with the names, one after the other.
func (p *tab) click(names ...string) {
	p.Helper()
	for _, name := range names {
		p.runSteps(chromedp.Click(byName(name)))
	}
}

// waitForVisible waits until the elements of the selectors are visible.
func (p *tab) waitForVisible(selectors ...chromedp.CSS) {
	p.Helper()
	for _, selector := range selectors {
		p.runSteps(chromedp.WaitVisible(selector))
	}
}

// write replaces the text in a field.
func (p *tab) write(name, text string) {
	p.Helper()
	p.runSteps(chromedp.DoubleClick(byName(name)), chromedp.SendKeys(byName(name), text))
}

// waitForAttribute waits for the element of a selector, and returns one of its attributes.
func (p *tab) waitForAttribute(selector chromedp.CSS, attribute string) string {
	p.Helper()
	p.runSteps(chromedp.WaitVisible(selector))
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	value := testenv.Need(chromedp.Run(ctx, chromedp.AttributeValue(selector, attribute)))(p.T)
	return value.Value
}

func (p *tab) text(selector chromedp.CSS) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.TextContent(selector))
	if err != nil {
		p.Fatalf("%s: %v; the page shows\n%s", selector, err, p.visibleText())
	}
	return text
}

// visibleText returns the text that a person reads on the page.
func (p *tab) visibleText() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	return fmt.Sprint(text, errors.Join(err))
}

// showsAnswer reports whether a tile shows one of the answers.
func (p *tab) showsAnswer(selector string, answers []string) bool {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	text := testenv.Need(chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q)?.querySelector('.tile-text')?.textContent ?? ''", selector))))(p.T)
	return slices.Contains(answers, text)
}
