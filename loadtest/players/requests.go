package players

import (
	"math/rand/v2"
	"slices"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// reconnecting is a client of a group that continues when a server fails. It detects a
// connection that breaks or falls silent, and connects to another server. It resumes its
// match after the last push that it has received, and sends unanswered requests again. It is
// not safe for concurrent use.
type reconnecting struct {
	Guest
	group  *Group
	dice   *rand.Rand
	dialer Dialer

	isConnected bool      // has connected, and has not disconnected for good
	refusal     error     // of the last attempt to connect; nil: it succeeded
	hasLost     bool      // has lost a connection, or left one without a reply or that drains
	lostAt      time.Time // when a connection last ended by itself; zero: the match is resumed

	connection  *frameReader // nil: none
	server      string       // of the newest connection
	lastFrameAt time.Time    // when the last frame came
	unanswered  []*request
	waiting     []received // not yet returned by next
	leaveAt     time.Time  // when to leave a server that drains or cannot give the state; zero: never

	match        string // that the player is in; "": none
	lastSeq      int64  // of the last push of the match; 0: none yet
	stateRequest int64  // id of the request whose reply match.state is missing; 0: none
}

// request is a request of a client.
type request struct {
	kind     string
	data     any
	attempts int // how often it was sent

	id     int64
	sentAt time.Time
}

// received is a frame that next returns.
type received struct {
	checker.Frame
	request   *request // that the frame answers; nil: it is a push
	clusterMS int64    // latest possible cluster time of its arrival, epoch ms
}

// ask sends a request. next returns its reply.
func (r *reconnecting) ask(kind string, data any) {
	q := &request{kind: kind, data: data}
	r.unanswered = append(r.unanswered, q)
	r.send(q)
}

// isAwaitingReply reports whether a request of one of the kinds has no reply yet.
func (r *reconnecting) isAwaitingReply(kinds ...string) bool {
	return slices.ContainsFunc(r.unanswered, func(q *request) bool { return slices.Contains(kinds, q.kind) })
}

// requestState requests a match from its first number on.
func (r *reconnecting) requestState(match string) {
	r.match = match
	r.ask(protocol.TypeMatchSync, protocol.Resume{Match: match})
	r.stateRequest = r.unanswered[len(r.unanswered)-1].id
}

// send writes a request. If that fails, the connection is about to end, and the next one
// sends the request again.
func (r *reconnecting) send(q *request) {
	if r.connection == nil {
		return
	}
	id, err := r.connection.Send(q.kind, q.data)
	if err != nil {
		_ = r.connection.Close()
	}
	q.id, q.sentAt = id, time.Now()
	q.attempts++
}

// dropConnection closes the connection. The next one may be to another server.
func (r *reconnecting) dropConnection() {
	if r.connection != nil {
		r.connection.close()
		r.connection = nil
	}
}
