package match

import (
	"context"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// lobbyEvery is how often those in an arena's lobby are told at the most who is
// there.
const lobbyEvery = 500 * time.Millisecond

// notice is the push of who is in a lobby: told at most once in a while, and
// the last change always. It is guarded by the mu of its match.
type notice struct {
	timer   *timer.Timer // set from when it is due until it is told
	again   bool         // there is news since it is being told
	share   bool         // other nodes are to be told that there is news
	told    int64        // when, cluster time
	version int64        // of the match, as it was told last
}

func (n *notice) stop() {
	if n.timer != nil {
		n.timer.Stop()
	}
}

// Moved says that players came to an arena or left it: those in its lobby are
// told in time, at the other nodes too. It does not block. Where this node
// dies, or does not hold the arena, the search for what was missed finds it.
func (e *Engine) Moved(match string) {
	l := e.held(match)
	if l == nil {
		return
	}
	l.mu.Lock()
	l.lobby.share = true
	l.mu.Unlock()
	e.noteLobby(l, true)
	if l.known().Phase == Open { // who has left may have been the last to be waited for
		e.Wheel.After(0, func() { e.due(l) })
	}
}

// noteLobby has those who are here told who is in the lobby, where there is
// news or the match has moved on since they were told.
func (e *Engine) noteLobby(l *live, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state.Phase != Lobby, !news && l.state.Version <= l.lobby.version:
	case l.lobby.timer != nil:
		l.lobby.again = true
	default:
		wait := time.Duration(l.lobby.told-e.Now())*time.Millisecond + lobbyEvery
		l.lobby.timer = e.Wheel.After(max(wait, time.Millisecond), func() { e.tellLobby(l) })
	}
}

// tellLobby reads who is in a lobby and tells those who are here. What comes
// meanwhile, or cannot be read, is told the next time.
func (e *Engine) tellLobby(l *live) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	share := l.beginNotice()
	v, err := e.read(ctx, l, -1)
	if err != nil {
		e.Logger.Warn("a lobby could not be read", "match", l.plan.ID, "error", e.lost(ctx, l, err))
		l.putOff(share, e.Now())
		e.noteLobby(l, true)
		return
	}
	if share {
		e.Bus.Send(ctx, v.Nodes, kindLobby, header{Match: l.plan.ID}.encode())
	}
	if l.endNotice(v, e.Now()) {
		e.noteLobby(l, true)
	}
}

// beginNotice says whether other nodes are to be told that there is news.
func (l *live) beginNotice() (share bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	share = l.lobby.share
	l.lobby.again, l.lobby.share = false, false
	return share
}

// putOff ends a notice that could not be read.
func (l *live) putOff(share bool, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lobby.timer, l.lobby.told, l.lobby.share = nil, now, l.lobby.share || share
}

// endNotice tells those who are here what was read, and says whether there is
// more to tell.
func (l *live) endNotice(v View, now int64) (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lobby.timer, l.lobby.told, l.lobby.version = nil, now, v.Version
	if v.Phase == Lobby && l.state.Phase == Lobby {
		l.tell(protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{
			ArenaID: l.plan.Arena.ID, Teams: v.TeamCounts(l.plan.Arena), Players: v.Players,
		}))
	}
	return l.lobby.again
}

// lobbyClosed tells those in a lobby that nothing will come of it.
func lobbyClosed(p *Plan, why Reason) []byte {
	return protocol.EncodePush(protocol.TypeArenaClosed, protocol.ArenaEnd{ArenaID: p.Arena.ID, Reason: string(why)})
}

// TeamCounts are an arena's teams and how many players they have, in the order
// of the arena; none is not nil.
func (v View) TeamCounts(a *Arena) []protocol.TeamCount {
	counts := make([]protocol.TeamCount, 0, len(a.Teams))
	for _, t := range a.Teams {
		counts = append(counts, protocol.TeamCount{ID: t.ID, Name: t.Name, Players: v.Teams[t.ID].Players})
	}
	return counts
}
