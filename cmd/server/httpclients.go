package main

import (
	"net/http"

	"laststand/internal/outbound"
)

// clients reach receivers, by whether their addresses may be private.
type clients map[bool]*http.Client

func newClients() clients {
	return clients{false: outbound.New(outbound.Options{}), true: outbound.New(outbound.Options{AllowPrivate: true})}
}

func (c clients) close() {
	for _, client := range c {
		client.CloseIdleConnections()
	}
}
