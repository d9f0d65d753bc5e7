// Package process measures and sets what the operating system lets the server process use:
// memory, CPUs and open files.
//
// Words: a limit is what the process may use at most. The headroom is how much memory the
// process allocates before the garbage collector runs again.
//
// Start reading at [SetMemory], which main calls first. [CPUUsage] is sampled by the limit on
// duels.
//
// The package must not know the configuration, or what the server does when a limit is near.
package process
