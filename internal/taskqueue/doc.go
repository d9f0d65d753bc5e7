// Package taskqueue is the durable task queue, for any number of topics. A task
// waits on disk until a worker has completed it. The queue serves webhooks,
// results that the ledger refused, and the tasks of games.
//
// Words: the tasks of one topic and priority are a queue. The kind of a topic
// is its part before the first slash; workers handle the tasks of one kind. An
// attempt is one run of a handler for a task. A lease is the right of a worker
// to end one attempt; its fence (fencing token) grows with each lease. A dead
// task, or dead letter, failed too often and waits for an operator. To notify
// is to wake the workers of a kind. A tenant is a game.
//
// # Promises
//
// An accepted task is on disk. It ends in one of three ways: it is done, it is
// dead and waits for an operator, or an operator discarded it. A key is
// accepted once per game and topic, until 7 days after the end of its task.
// Only the newest lease can end an attempt.
//
// Workers get tasks from the topics of a kind in turn, and from priorities by
// weight. No topic and no priority starves. A failed task leaves its queue until
// it is due, and then joins the end of the queue. Only in an ordered queue does
// a failed task delay the later ones.
//
// # Parts
//
// The store assigns positions and leases. Workers run handlers. A Maintainer on
// each node returns due tasks to their queues. A Notifier wakes the workers of
// its process and of other nodes. A regular poll finds the tasks that it missed.
// Admin is for operators, TenantQueue for the services of games.
//
// Start with task.go and lease.go. Then read top down: workers.go and attempt.go
// for the server's own tasks, tenant.go and its parts for those of games. This package
// does no I/O and knows neither SQL nor HTTP.
package taskqueue
