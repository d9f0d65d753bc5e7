// Package eventq is the bounded queue of behaviours, one per game. A behaviour is
// an event about a player, for example "online". The server buffers behaviours,
// queues them, and reports them in batches to the sink that the game names, while
// they are fresh.
//
// Delivery is best effort. Every lost behaviour is counted with its reason, so that
// offered = sent + dropped + queued + in flight.
//
// Words: a sink is the destination of a game (a file, a webhook, the NPPA). A push
// appends items to a queue; a take moves the oldest items in flight as a batch. A
// batch leaves as one or more messages. It has a lease, and counts as lost when the
// lease ends. A message whose attempt fails goes back to the head of the queue, with
// its id. A partition is a fixed share of the games; one node at a time owns it.
//
// The way of an item: intake.Offer or intake.Post (intake.go), gameBuffer (buffer.go,
// collector.go), Queue.Push (push.go), Queue.Take (take.go), Sink.Send (send.go), and
// Queue.Finish (take.go), which ends or requeues it. Start with behaviour.go,
// queue.go and service.go.
//
// The package does no I/O. Redis is in redisqueue, the sinks are in sink,
// and playerevents offers the events of this server's players.
package eventq
