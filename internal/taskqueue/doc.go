// Package taskqueue is the durable task queue, for any number of topics. A task
// waits on disk until a worker has completed it. The queue serves webhooks,
// results that the ledger refused, and the tasks of games.
//
// Words: the tasks of one topic and priority are a queue. The kind of a topic
// is its part before the first slash; workers serve one kind. A lease is the
// right of a worker to end one attempt of a task; its fence (fencing token)
// grows with each lease. A dead letter is a task that the queue gave up.
//
// # Promises
//
// An accepted task is on disk. It ends in one of three ways: it is done, it is
// dead and waits for an operator, or an operator discarded it. A key is
// accepted once per game and topic, until 7 days after the end of its task.
// Only the newest lease can end an attempt.
//
// Topics of a kind are served in turn, and priorities by weight. No topic and
// no priority starves. A task that failed leaves its queue until it is due, and
// then joins the end of the queue. Only a task of an ordered queue holds up the
// others.
//
// # Parts
//
// The store assigns positions and leases. Workers run handlers. A Maintainer on
// each node returns due tasks. A Notifier wakes the workers of its process, and
// a CrossNodeNotifier those of other nodes. A slow poll finds what both missed.
// Admin is for operators, TenantQueue for the services of games.
//
// Start with task.go and lease.go, then pool.go. This package does no I/O and
// knows neither SQL nor HTTP.
package taskqueue
