// Package docs holds the wire contract in machine-readable form, and the list of
// what is stored.
package docs

import _ "embed"

// OpenAPI is the HTTP part, in OpenAPI 3.1 (YAML).
//
//go:embed openapi.yaml
var OpenAPI []byte

// AsyncAPI is the websocket's part, in AsyncAPI 3.0 (YAML).
//
//go:embed asyncapi.yaml
var AsyncAPI []byte

// Storage lists every table of the ledger and every key in Redis, in Markdown.
// Tests compare it with what is there.
//
//go:embed reference/storage.md
var Storage []byte
