package safehttp

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// fakeDNS is a name server that returns these addresses for every name.
type fakeDNS struct {
	mu        sync.Mutex
	addresses []netip.Addr
}

func newFakeDNS(addresses ...string) *fakeDNS {
	n := new(fakeDNS)
	n.set(addresses...)
	return n
}

func (n *fakeDNS) set(addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses = nil
	for _, address := range addresses {
		n.addresses = append(n.addresses, netip.MustParseAddr(address))
	}
}

// resolver queries the server over connections inside the process.
func (n *fakeDNS) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	var asked sync.WaitGroup
	t.Cleanup(asked.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		asked.Go(func() {
			defer theirs.Close()
			n.serve(theirs)
		})
		return ours, nil
	}}
}

// serve speaks DNS over TCP: a length before every message (RFC 1035, 4.2.2).
func (n *fakeDNS) serve(c net.Conn) {
	for {
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		reply := n.answer(query)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

const typeA = 1

func (n *fakeDNS) answer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	question := query[12 : end+5]
	asked := binary.BigEndian.Uint16(query[end+1:])
	var records []byte
	count := 0
	for _, address := range n.recordsOf(asked) {
		records = append(records, 0xc0, 12) // the name of the question
		records = binary.BigEndian.AppendUint16(records, asked)
		records = append(records, 0, 1, 0, 0, 0, 0) // class internet, time to live 0
		records = binary.BigEndian.AppendUint16(records, uint16(address.BitLen()/8))
		records = append(records, address.AsSlice()...)
		count++
	}
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, byte(count), 0, 0, 0, 0}, question...)
	return append(reply, records...)
}

// addressesOfType returns the addresses of a type, A or AAAA.
func (n *fakeDNS) recordsOf(kind uint16) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []netip.Addr
	for _, address := range n.addresses {
		if address.Is4() == (kind == typeA) {
			list = append(list, address)
		}
	}
	return list
}
