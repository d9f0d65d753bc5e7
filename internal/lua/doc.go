// Package lua has what the Redis adapters share: [Join] assembles a script from
// embedded files, and [Reply] reads what a script returns.
//
// The package must not know Redis clients, keys or any script.
package lua
