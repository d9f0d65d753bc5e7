package identity

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/nickname"
)

// Config configures a registry. All fields are required unless their comment says
// otherwise.
type Config struct {
	Tokens      *Tokens // the registry has the same games and clock
	Players     Players
	Devices     Devices
	Names       Names        // claims and looks up single nicknames
	NameSource  NameSource   // lists all nicknames, for the views
	Revocations *Revocations // nil: no player or token is banned or revoked
	Epoch       string       // id of the ledger's data; a snapshot with another epoch is ignored
	Snapshots   Snapshots    // nil: no snapshots
	Logger      *slog.Logger
	Registry    prometheus.Registerer

	Words        map[string]*nickname.Words // by game, words that a nickname must not contain; nil: none
	Reservations NameReservations           // nil: suggestions are not reserved

	initialFilterCapacity int // number of names for which the first filter of a view has room; 0: defaultFilterCapacity; only tests set it
}
