package main

import (
	"net/http"

	"laststand/internal/webhook/httpposter"
)

// clients holds the HTTP clients for webhooks and sinks: clients[true] may connect to
// private addresses, clients[false] may not.
type clients map[bool]*http.Client

func newClients() clients {
	return clients{false: httpposter.NewClient(httpposter.ClientOptions{}), true: httpposter.NewClient(httpposter.ClientOptions{AllowPrivate: true})}
}

func (c clients) close() {
	for _, client := range c {
		client.CloseIdleConnections()
	}
}
