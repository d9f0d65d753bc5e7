package main

import (
	"net/http"

	"laststand/internal/webhook/safehttp"
)

// clients holds the HTTP clients for webhooks and sinks: clients[true] may connect to
// private addresses, clients[false] may not.
type clients map[bool]*http.Client

func newClients() clients {
	return clients{false: safehttp.New(safehttp.Options{}), true: safehttp.New(safehttp.Options{AllowPrivate: true})}
}

func (c clients) close() {
	for _, client := range c {
		client.CloseIdleConnections()
	}
}
