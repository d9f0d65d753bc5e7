package main

import (
	"net/http"

	"laststand/internal/webhook/safehttp"
)

// clients reach receivers, by whether their addresses may be private.
type clients map[bool]*http.Client

func newClients() clients {
	return clients{false: safehttp.New(safehttp.Options{}), true: safehttp.New(safehttp.Options{AllowPrivate: true})}
}

func (c clients) close() {
	for _, client := range c {
		client.CloseIdleConnections()
	}
}
