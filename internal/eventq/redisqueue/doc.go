// Package redisqueue keeps the queues of behaviours in Redis. It implements
// eventq.Queue, eventq.Admin and eventq.Nodes.
//
// All keys of a partition share one hash tag. So every move of items is one script,
// which counts them in the same step.
//
// Words: a bundle is a group of items that is stored as one text (pop.lua). A verdict
// is the stored answer to a push. A result marker says how a batch, or a part of it,
// ended. Both make it safe to repeat a call.
//
// The main type is [Store]. Start reading at keys.go,
// then push.go with push.lua, and batch.go with take.lua and finish.lua.
// Scripts that change a queue begin with queue.lua, which reads its state; store.go
// lists the files of each script.
//
// The package must not know how items are sent, when games are due to be served, or
// what a behaviour means.
package redisqueue
