package main

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// Behind a proxy, with and without TLS, the page plays and its links lead to the proxy. That does
// not depend on trusted_proxies.
func TestThePageAndItsLinksWorkBehindAProxy(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	b := newBrowser(t, chromium, chromedp.Flag("ignore-certificate-errors", true))
	for name, test := range map[string]struct {
		trusted string
		withTLS bool
	}{"trusted, TLS": {"[127.0.0.1]", true}, "trusted, no TLS": {"[127.0.0.1]", false}, "unknown, TLS": {"[]", true}} {
		proxy := startProxy(t, startNodeWithEveryKind(t, "trusted_proxies: "+test.trusted+hostPacedConfig).url, test.withTLS)
		host := b.hostArena(proxy, "survival")
		link, err := chromedp.Run(host.ctx, chromedp.Value(byName("link")))
		if want := proxy + "/g/com.example.quiz/join/" + host.code; err != nil || link != want {
			t.Errorf("%s: the link is %q, %v; want %q", name, link, err, want)
		}
		b.open(link+"?guest=new").join("Ruby", "")
		host.waitForVisible(byNameAndData("players", "value", 1))
	}
}

// startProxy starts an HTTP proxy before a node, as deploy/proxies/nginx.conf describes one, and returns its URL.
func startProxy(t *testing.T, nodeURL string, withTLS bool) string {
	t.Helper()
	node := testenv.Need(url.Parse(nodeURL))(t)
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(node)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}})
	if withTLS {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.URL
}
