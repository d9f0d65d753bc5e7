package client

// Reconnects counts the reconnects of a ReconnectingPlayer.
type Reconnects struct {
	Connections    int
	Lost           int   // connections that ended by themselves
	Silent         int   // connections that the player closed because of silence
	Replaced       int   // connections that the server closed because the player had a newer one
	Drained        int   // connections to a server that was draining
	Resumed        int   // how often a match was resumed
	MissedPushes   int64 // missed pushes that came after the resume
	ResentRequests int   // requests that were sent again
}

// Add adds what another went through.
func (t *Reconnects) Add(other Reconnects) {
	t.Connections += other.Connections
	t.Lost += other.Lost
	t.Silent += other.Silent
	t.Replaced += other.Replaced
	t.Drained += other.Drained
	t.Resumed += other.Resumed
	t.MissedPushes += other.MissedPushes
	t.ResentRequests += other.ResentRequests
}
