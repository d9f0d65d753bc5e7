package harness

import "net"

// PerSource is how many connections should come from one address. To find a port of
// one that thousands have come from, or have just left, takes the system a
// millisecond; a node that is more than half full has a place for a hundred of an
// address that are in no match; and no more than a hundred may try codes of arenas at
// once, before one was right.
const PerSource = 50

// Source has connections come from the nth address of loopback, of 16 million.
func Source(n int) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(n/62500), byte(n/250%250), byte(1+n%250))}}
}
