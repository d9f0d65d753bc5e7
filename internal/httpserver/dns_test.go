package httpserver

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
	d := new(fakeDNS)
	d.set(addresses...)
	return d
}

func (d *fakeDNS) set(addresses ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addresses = nil
	for _, address := range addresses {
		d.addresses = append(d.addresses, netip.MustParseAddr(address))
	}
}

// resolver queries the server over connections inside the process.
func (d *fakeDNS) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	var queries sync.WaitGroup
	t.Cleanup(queries.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		clientEnd, serverEnd := net.Pipe()
		queries.Go(func() {
			defer serverEnd.Close()
			d.serve(serverEnd)
		})
		return clientEnd, nil
	}}
}

// serve speaks DNS over TCP: a length before every message (RFC 1035, 4.2.2).
func (d *fakeDNS) serve(conn net.Conn) {
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		reply := d.answer(query)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

const typeA = 1

func (d *fakeDNS) answer(query []byte) []byte {
	nameEnd := 12
	for query[nameEnd] != 0 {
		nameEnd += 1 + int(query[nameEnd])
	}
	question := query[12 : nameEnd+5]
	recordType := binary.BigEndian.Uint16(query[nameEnd+1:])
	var records []byte
	count := 0
	for _, address := range d.addressesOfType(recordType) {
		records = append(records, 0xc0, 12) // the name of the question
		records = binary.BigEndian.AppendUint16(records, recordType)
		records = append(records, 0, 1, 0, 0, 0, 0) // class internet, time to live 0
		records = binary.BigEndian.AppendUint16(records, uint16(address.BitLen()/8))
		records = append(records, address.AsSlice()...)
		count++
	}
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, byte(count), 0, 0, 0, 0}, question...)
	return append(reply, records...)
}

// addressesOfType returns the addresses of a type, A or AAAA.
func (d *fakeDNS) addressesOfType(kind uint16) []netip.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []netip.Addr
	for _, address := range d.addresses {
		if address.Is4() == (kind == typeA) {
			list = append(list, address)
		}
	}
	return list
}
