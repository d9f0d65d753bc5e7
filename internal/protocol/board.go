package protocol

// The types of the messages about boards. The data of `board` is the answer to
// a leaderboard query over HTTP.
const (
	TypeBoardWatch   = "board.watch"
	TypeBoardUnwatch = "board.unwatch"
	TypeBoardOK      = "board.ok"
	TypeBoard        = "board"
)

// BoardWatch names a leaderboard and how much of its top is wanted: the data
// of board.watch and board.unwatch. Absent fields mean what they mean over HTTP.
type BoardWatch struct {
	Window string `json:"window" need:"true"`
	Order  string `json:"order,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Limit  *int   `json:"limit,omitempty"`
}
