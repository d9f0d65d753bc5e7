// Package taskqueue is the durable queue of any number of topics: what must be
// done exactly as often as it is asked for waits in it, on disk, until a worker
// has done it. The tasks of a topic and priority are a line.
//
// # Promises
//
// An accepted task is on disk, and ends in one of three ways: it is done, it is
// dead and waits for an operator, or an operator discarded it. Its key is taken
// once, until 7 days after the end. A try is ended only by whoever holds its
// newest lease.
//
// Topics of a kind are served in turn, however much waits in one of them, and
// priorities by weight, so that none starves. What fails leaves its line until it
// is due and then goes to its end, so that it holds nothing up; unless the line
// is ordered.
//
// # Who does what
//
// The store assigns positions and leases. Workers run handlers; a Keeper on every
// node brings back what is due; a Bell wakes the workers of its process, a Relay
// those of other nodes, and what neither reaches is found by a slow poll. A Desk is
// for operators.
package taskqueue
