// Package eventq is the bounded queue of behaviours, one per game. A behaviour is
// an event about a player, for example "online". The server buffers behaviours,
// queues them, and reports them in batches to the sink that the game names, while
// they are fresh.
//
// Delivery is best effort. Every lost behaviour is counted with its reason, so that
// offered = sent + dropped + queued + in flight. Only what a crashed node had not pushed
// yet is not counted.
//
// Words: a sink is the destination of a game (a file, a webhook, the NPPA). A push
// appends items to a queue; a take moves the oldest items in flight as a batch. A
// batch leaves as one or more messages. It has a lease, and counts as lost when the
// lease ends. A message whose attempt fails goes back to the head of the queue, with
// its id unless a part of it was answered. A partition is a fixed share of the games; one
// node at a time owns it.
// A session is the stay of a player at a node, from online to offline; a session record
// is its stored form. A dead node is one without a heartbeat for deadAfterMS.
//
// The way of an item: intake.Offer or intake.Post (intake.go), gameBuffer (buffer.go),
// Queue.Push (collector.go), then Queue.Take, Sink.Send and Queue.Finish (send.go),
// which ends or requeues it. Start with behaviour.go,
// queue.go and service.go.
//
// [Players] offers the behaviours of this server's players, and stores their sessions. Start
// with Players.Enter in players.go, and deadnodes.go.
//
// The package does no I/O, and must not know websockets. Redis is in redisqueue, and the
// sinks are in sink.
package eventq
