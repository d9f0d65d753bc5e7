// Package config reads, checks and prints the configuration of the server.
//
// Words: a setting is one key of the configuration file. A receiver is a behaviour sink or
// a webhook: a program that checks signatures, so each receiver has keys. A rule is a named
// limit.
//
// The main type is [Config]. Its struct tags and comments are the reference of the settings:
// docs/reference/configuration.md is generated from them. Start reading at Read, then
// Config.Validate, which lists all problems together.
//
// Only the keys of games and receivers can change while the server runs: see [GameKeys] and
// [ReceiverKeys]. All other settings need a restart. [SetMemory], [MemoryLimit] and [CPUUsage]
// set and measure what the operating system lets the process use.
//
// The package must not start services. Methods of Config translate settings into the
// configurations of other packages.
package config
