package httpserver

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// The client address of a request depends on its peer and its headers.
func TestClientAddressReadsForwardedHeadersFromTheRight(t *testing.T) {
	t.Parallel()
	trusted, err := ParseTrustedProxies([]string{"10.0.0.0/8", "192.0.2.7", "2001:db8::/32"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		peer string
		hops []string
		want string
	}{
		"no proxy":                      {"203.0.113.9:5", nil, "203.0.113.9"},
		"a forged header":               {"203.0.113.9:5", []string{"198.51.100.1"}, "203.0.113.9"},
		"one proxy":                     {"10.0.0.1:5", []string{"198.51.100.1"}, "198.51.100.1"},
		"a proxy without the header":    {"10.0.0.1:5", nil, "10.0.0.1"},
		"two proxies":                   {"10.0.0.1:5", []string{"198.51.100.1, 10.9.9.9"}, "198.51.100.1"},
		"two headers":                   {"10.0.0.1:5", []string{"198.51.100.1", "10.9.9.9"}, "198.51.100.1"},
		"a forged address in front":     {"10.0.0.1:5", []string{"192.0.2.7, 198.51.100.1"}, "198.51.100.1"},
		"a forged first header":         {"10.0.0.1:5", []string{"1.1.1.1", "198.51.100.1"}, "198.51.100.1"},
		"an untrusted proxy between":    {"10.0.0.1:5", []string{"1.1.1.1, 203.0.113.9, 10.9.9.9"}, "203.0.113.9"},
		"only proxies":                  {"10.0.0.1:5", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"no address":                    {"10.0.0.1:5", []string{"unknown"}, "10.0.0.1"},
		"no address behind a proxy":     {"10.0.0.1:5", []string{"1.1.1.1, _hidden, 10.0.0.2"}, "10.0.0.2"},
		"an empty element":              {"10.0.0.1:5", []string{"1.1.1.1,, 10.0.0.2"}, "10.0.0.2"},
		"an empty header":               {"10.0.0.1:5", []string{""}, "10.0.0.1"},
		"with a port":                   {"10.0.0.1:5", []string{"198.51.100.1:4444"}, "198.51.100.1"},
		"IPv6":                          {"[2001:db8::1]:5", []string{"2a00::1"}, "2a00::1"},
		"IPv6 in brackets":              {"[2001:db8::1]:5", []string{"[2a00::1]"}, "2a00::1"},
		"IPv6 with a port":              {"[2001:db8::1]:5", []string{"[2a00::1]:443"}, "2a00::1"},
		"IPv4 in brackets":              {"10.0.0.1:5", []string{"[1.1.1.1]"}, "10.0.0.1"},
		"IPv4 in IPv6":                  {"[::ffff:10.0.0.1]:5", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		"a zone":                        {"10.0.0.1:5", []string{"fe80::1%eth0"}, "fe80::1"},
		"a single trusted address":      {"192.0.2.7:5", []string{"198.51.100.1"}, "198.51.100.1"},
		"the next address is untrusted": {"192.0.2.8:5", []string{"198.51.100.1"}, "192.0.2.8"},
		"tabs":                          {"10.0.0.1:5", []string{"198.51.100.1\t,\t10.0.0.2"}, "198.51.100.1"},
		"an address with a query":       {"10.0.0.1:5", []string{"198.51.100.1?x"}, "10.0.0.1"},
		"a number that is no address":   {"10.0.0.1:5", []string{"3325256705"}, "10.0.0.1"},
	} {
		r := &http.Request{RemoteAddr: test.peer, Header: http.Header{"Forwarded": {"for=9.9.9.9"}, "X-Real-Ip": {"9.9.9.9"}}}
		if test.hops != nil {
			r.Header["X-Forwarded-For"] = test.hops
		}
		if got := trusted.ClientAddress(r); got.String() != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if got := trusted.ClientAddress(&http.Request{RemoteAddr: "@", Header: http.Header{"X-Forwarded-For": {"1.1.1.1"}}}); got.IsValid() {
		t.Errorf("over a Unix socket: %s", got)
	}
}

// An untrusted peer that sends a forwarded header is reported to OnUntrustedForward, and the
// header is ignored.
func TestForwardedHeadersOfUntrustedPeersAreReported(t *testing.T) {
	t.Parallel()
	var untrusted []string
	trusted, err := ParseTrustedProxies([]string{"10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	trusted.OnUntrustedForward = func(peer netip.Addr) { untrusted = append(untrusted, peer.String()) }
	for _, peer := range []string{"10.0.0.1:1", "10.0.0.2:1"} {
		trusted.ClientAddress(&http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {"1.1.1.1"}}})
	}
	if got := strings.Join(untrusted, " "); got != "10.0.0.2" {
		t.Errorf("untrusted: %s", got)
	}
	var noProxies *TrustedProxies
	if got := noProxies.ClientAddress(&http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": {"1.1.1.1"}}}); got.String() != "10.0.0.1" {
		t.Errorf("without trusted proxies: %s", got)
	}
}

func TestIsTLSTrustsOnlyTrustedProxies(t *testing.T) {
	t.Parallel()
	trusted, err := ParseTrustedProxies([]string{"10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		peer, proto string
		tlsState    *tls.ConnectionState
		want        bool
	}{
		{"10.0.0.1:1", "https", nil, true},
		{"10.0.0.1:1", "HTTPS", nil, true},
		{"10.0.0.1:1", "http", nil, false},
		{"10.0.0.1:1", "", nil, false},
		{"10.0.0.2:1", "https", nil, false},
		{"10.0.0.2:1", "http", &tls.ConnectionState{}, true},
	} {
		r := &http.Request{RemoteAddr: test.peer, Header: http.Header{"X-Forwarded-Proto": {test.proto}}, TLS: test.tlsState}
		if got := trusted.IsTLS(r); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

func TestParseTrustedProxiesListsInvalidRanges(t *testing.T) {
	t.Parallel()
	_, err := ParseTrustedProxies([]string{"10.0.0.0/8", "proxy", "10.0.0.0/33", "0.0.0.0/0", "::/0", "fe80::1%eth0", "::ffff:10.0.0.0/104"})
	if err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("%v, want 6 errors", err)
	}
	trusted, err := ParseTrustedProxies([]string{"10.1.2.3/8", "::ffff:192.0.2.1"})
	if err != nil || !trusted.Has(netip.MustParseAddr("10.255.0.1")) || !trusted.Has(netip.MustParseAddr("192.0.2.1")) {
		t.Errorf("%+v, %v", trusted, err)
	}
}

func FuzzProxyClient(f *testing.F) {
	trusted, err := ParseTrustedProxies([]string{"10.0.0.0/8"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("10.0.0.1:5", "198.51.100.1, 10.0.0.2", "[2a00::1]:443")
	f.Add("203.0.113.9:5", "unknown,,", "fe80::1%eth0")
	f.Fuzz(func(t *testing.T, peer, first, second string) {
		r := &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {first, second}}}
		got, direct := trusted.ClientAddress(r), ParseAddress(peer)
		if !trusted.Has(direct) && got != direct {
			t.Errorf("the headers of the untrusted peer %q were used: %s", peer, got)
		}
		if got.Is4In6() || got.Zone() != "" {
			t.Errorf("%s is not the plain form", got)
		}
	})
}
