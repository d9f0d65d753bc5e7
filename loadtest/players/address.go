package players

import "net"

// PerAddress is how many connections should come from one address. After thousands of
// connections from one address, the system needs a millisecond to find a free port. A
// node that is more than half full accepts only a hundred clients of one address that
// are in no match. Only a hundred clients of one address may try arena codes at once,
// before one was right.
const PerAddress = 50

// FromAddress returns a dialer that connects from the nth loopback address, of 16 million.
func FromAddress(n int) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(n/62500), byte(n/250%250), byte(1+n%250))}}
}
