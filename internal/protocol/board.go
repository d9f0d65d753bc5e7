package protocol

// The types of the messages about leaderboards. The data of `board` is the same as the
// reply to a leaderboard query over HTTP.
const (
	TypeBoardWatch   = "board.watch"
	TypeBoardUnwatch = "board.unwatch"
	TypeBoardOK      = "board.ok"
	TypeBoard        = "board"
)

// BoardWatch is the data of board.watch and board.unwatch. It names a leaderboard. Limit
// is the number of top entries to push. An absent field has the same default as over
// HTTP.
type BoardWatch struct {
	Window string `json:"window" need:"true"`
	Order  string `json:"order,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Limit  *int   `json:"limit,omitempty"`
}
