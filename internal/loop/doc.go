// Package loop runs work in the background: Every repeats it at intervals, and a Batcher
// runs it once for many callers. Start with every.go. The package knows nothing of the
// work.
package loop
