package player

// Reconnects counts what a Roamer went through.
type Reconnects struct {
	Connections int
	Lost        int   // connections that ended by themselves
	Silent      int   // connections that were given up for silence
	Replaced    int   // connections closed because another of the player's was newer
	Left        int   // connections to a server that was draining
	Resumed     int   // times that a match was resumed
	Filled      int64 // pushes that were missed by then, and came
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
