package client

// Reconnects counts the reconnects of a Roamer.
type Reconnects struct {
	Connections int
	Lost        int   // connections that ended by themselves
	Silent      int   // connections that the player closed because of silence
	Replaced    int   // connections that the server closed because the player had a newer one
	Left        int   // connections to a server that was draining
	Resumed     int   // how often a match was resumed
	Filled      int64 // missed pushes that came after the resume
	Again       int   // requests that were sent again
}

// Add adds what another went through.
func (t *Reconnects) Add(other Reconnects) {
	t.Connections += other.Connections
	t.Lost += other.Lost
	t.Silent += other.Silent
	t.Replaced += other.Replaced
	t.Left += other.Left
	t.Resumed += other.Resumed
	t.Filled += other.Filled
	t.Again += other.Again
}
