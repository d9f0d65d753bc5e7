package match

// Mode identifies the rules of a match.
type Mode string

// The modes of the wire contract.
const (
	Duel     Mode = "duel"
	Buzzer   Mode = "buzzer"
	Survival Mode = "survival"
	Race     Mode = "race" // everyone answers every question, most points win
)

// Reason is why a match ended.
type Reason string

// The reasons of the wire contract.
const (
	ReasonFinished  Reason = "finished"
	ReasonForfeit   Reason = "forfeit"
	ReasonClosed    Reason = "closed"
	ReasonAbandoned Reason = "abandoned"
)
