package httpserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
)

func TestIsPublicRefusesSpecialAddresses(t *testing.T) {
	t.Parallel()
	tests := map[bool][]string{
		true: {
			"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "223.255.255.255", "::ffff:8.8.8.8",
			"2606:4700:4700::1111", "2001:4860:4860::8888", "2a00::1",
		},
		false: {
			"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.255.255.255", "168.63.129.16",
			"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
			"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
			"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a00:1", "64:ff9b::808:808", "64:ff9b:1::1",
			"100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1",
			"2001:db8::1%eth0", "ff02::1",
		},
	}
	for want, list := range tests {
		for _, text := range list {
			if got := isPublic(netip.MustParseAddr(text)); got != want {
				t.Errorf("isPublic(%s) = %t", text, got)
			}
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("the zero address is public")
	}
}

// No spelling of a private address reaches the server.
func TestPrivateAddressesAreBlocked(t *testing.T) {
	t.Parallel()
	server, calls := newCountingListener(t)
	port := server.port
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "[::]"} {
		_, err := getStatus(t, ClientOptions{}, "http://"+host+":"+port+"/")
		expectBlocked(t, host, err)
	}
	for _, address := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "64:ff9b::7f00:1", "::ffff:127.0.0.1"} {
		_, err := getStatus(t, ClientOptions{Resolver: newFakeDNS(address).resolver(t)}, "http://receiver.test.:"+port+"/")
		expectBlocked(t, "a name for "+address, err)
	}
	_, err := getStatus(t, ClientOptions{Resolver: newFakeDNS("127.0.0.1", "127.0.0.2", "::1").resolver(t)}, "http://receiver.test.:"+port+"/")
	expectBlocked(t, "a name with several addresses", err)
	if n := calls.Load(); n != 0 {
		t.Errorf("the server was called %d times", n)
	}
}

// An earlier lookup of the name returned a public address. The client checks the
// address that it connects to.
func TestANameThatChangesToAPrivateAddressIsBlocked(t *testing.T) {
	t.Parallel()
	server, calls := newCountingListener(t)
	dns := newFakeDNS("8.8.8.8")
	resolver := dns.resolver(t)
	earlier, err := resolver.LookupNetIP(context.Background(), "ip", "receiver.test.")
	if err != nil || len(earlier) != 1 || !isPublic(earlier[0]) {
		t.Fatalf("looked up %v, %v", earlier, err)
	}
	dns.set("127.0.0.1")
	_, err = getStatus(t, ClientOptions{Resolver: resolver}, "http://receiver.test.:"+server.port+"/")
	expectBlocked(t, "the name", err)
	if n := calls.Load(); n != 0 {
		t.Errorf("the server was called %d times", n)
	}
}

func TestPrivateAddressesCanBeAllowed(t *testing.T) {
	t.Parallel()
	server, calls := newCountingListener(t)
	for _, options := range []ClientOptions{{AllowPrivate: true}, {AllowPrivate: true, Resolver: newFakeDNS("127.0.0.1").resolver(t)}} {
		host := "127.0.0.1"
		if options.Resolver != nil {
			host = "receiver.test."
		}
		if status, err := getStatus(t, options, "http://"+host+":"+server.port+"/"); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d, %v", host, status, err)
		}
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("the server was called %d times", n)
	}
}

func expectBlocked(t *testing.T, name string, err error) {
	t.Helper()
	if _, ok := errors.AsType[*BlockedError](err); !ok {
		t.Errorf("%s: %v, want it blocked", name, err)
	}
}

type countingListener struct {
	*httptest.Server
	port string
}

// newCountingListener starts a server on 127.0.0.1 and counts its requests.
func newCountingListener(t *testing.T) (countingListener, *atomic.Int64) {
	t.Helper()
	calls := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return countingListener{server, u.Port()}, calls
}

// getStatus makes a request with its own client, and returns the status.
func getStatus(t *testing.T, options ClientOptions, address string) (int, error) {
	t.Helper()
	client := NewClient(options)
	defer client.CloseIdleConnections()
	reply, err := client.Get(address)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	return reply.StatusCode, nil
}
