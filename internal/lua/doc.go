// Package lua contains code that the Redis adapters share. [Join] assembles a script from
// embedded files. [Reply] reads the values that a script returns.
//
// The package must not know Redis clients, keys or any script.
package lua
