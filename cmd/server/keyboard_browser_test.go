package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"laststand/internal/testenv"
)

// waitForFocus waits until an element has the keyboard's focus.
func (p *tab) waitForFocus(name string) {
	p.Helper()
	waitUntil(p.T, name+" has the focus", func() bool {
		focused, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("document.activeElement.dataset.test ?? ''"))
		return err == nil && focused == name
	})
}

// A host starts a match, opens and closes a question, and decides not to close the arena, with the
// key Enter alone, because the focus follows.
func TestAHostPlaysWithTheKeyboardInTheBrowser(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	b := newBrowser(t, chromium)
	host := b.hostArena(startNodeWithEveryKind(t, hostPacedConfig).url, "buzzer")
	b.open(host.link).join("Ann", "")
	host.waitForVisible(byNameAndData("players", "value", 1))
	pressEnter := chromedp.KeyEvent(kb.Enter)
	host.runSteps(chromedp.Focus(byName("start")), pressEnter)
	host.waitForVisible(byNameAndData("next", "act", "open"))
	host.waitForFocus("next")
	host.runSteps(pressEnter)
	host.waitForQuestion(0)
	host.waitForVisible(byNameAndData("next", "act", "close"))
	host.waitForFocus("next")
	host.runSteps(pressEnter)
	host.waitForOutcome("unknown")
	host.runSteps(chromedp.Focus(byName("close")), pressEnter)
	host.waitForFocus("close-no")
	host.runSteps(pressEnter)
	host.waitForFocus("close")
}
