package match

import (
	"bytes"

	"laststand/internal/protocol"
)

// lobbyNoticeIntervalMS is the shortest interval between two notices to the players in an
// arena's lobby.
const lobbyNoticeIntervalMS = 500

// lobbyNotice is the last notice to the players in an arena's lobby.
type lobbyNotice struct {
	version int64 // of the match
	encoded []byte
	sentAt  int64 // cluster time
}

// next returns a notice with the player counts of a lobby if they have changed since the last
// one and it is time for another one, else nil. An equal notice would show that the host has
// done something else.
func (n *lobbyNotice) next(plan *Plan, known State, view View, now int64) []byte {
	if known.Phase != PhaseLobby || view.Phase != PhaseLobby || view.Version <= n.version || now < n.sentAt+lobbyNoticeIntervalMS {
		return nil
	}
	notice := protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{
		ArenaID: plan.Arena.ID, Teams: view.TeamCounts(plan.Arena), Players: view.Players,
	})
	if n.version = view.Version; bytes.Equal(notice, n.encoded) {
		return nil
	}
	n.encoded, n.sentAt = notice, now
	return notice
}
