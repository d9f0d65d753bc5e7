package match

// Settlement is a match whose result is settled, with the sessions of its
// players at this node.
type Settlement struct {
	Game, Match        string
	Ratings            map[string]int // final, by player; nil if the match is not rated
	Sessions           map[string]Subscriber
	LeaderboardsMayLag bool // true: the leaderboards may not show the result yet
}

// LifecycleEvent reports the start or the end of a match to the players of one
// node.
type LifecycleEvent struct {
	Game, Match string
	Mode        Mode
	Ended       bool     // false: the match started; true: it ended
	Reason      Reason   // why it ended
	OccurredAt  int64    // cluster time: when question 0 opened, or when this node saw the end
	Players     []string // players with a seat and a session at this node
}
