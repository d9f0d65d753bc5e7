package match

import (
	"context"
	"errors"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

// places knows who has which place in a match.
type places struct{ *advancer }

// member returns a player's place in a match, or ErrNotFound. It uses what this
// node looked up before.
func (p *places) member(ctx context.Context, local *localMatch, player string) (Member, error) {
	if member := local.members.find(player); member.Role != "" {
		return member, nil
	}
	return p.lookUpMember(ctx, local, player)
}

// lookUpMember reads a player's place in a match from the store.
func (p *places) lookUpMember(ctx context.Context, local *localMatch, player string) (Member, error) {
	if local.plan.Arena == nil {
		seat, ok := local.plan.FindSeat(player)
		if !ok {
			return Member{}, ErrNotFound
		}
		return Member{Seat: seat, Role: PlayerRole}, nil
	}
	members, err := p.Places.Members(ctx, local.plan.ID, player)
	if err != nil {
		return Member{}, err
	}
	member, ok := members[player]
	if !ok {
		return Member{}, ErrNotFound
	}
	local.members.store(member)
	return member, nil
}

// CheckSeat returns ErrNotFound unless the player has a seat in the match.
func (p *places) CheckSeat(ctx context.Context, match, player string) error {
	local, err := p.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	member, err := p.member(ctx, local, player)
	if err == nil && member.Role != PlayerRole {
		return ErrNotFound
	}
	return err
}

// HasSeat reports whether a player has a seat in a match of a game, also one that the player
// left during the match. It returns ErrNotFound if the store does not have the match. The
// store has it at least until it is settled.
func (p *places) HasSeat(ctx context.Context, game, match, player string) (bool, error) {
	local, err := p.loadMatch(ctx, match)
	if err == nil && local.plan.Game != game {
		err = ErrNotFound
	}
	if err != nil {
		return false, err
	}
	member, err := p.member(ctx, local, player)
	if errors.Is(err, ErrNotFound) {
		view, err := p.Matches.Read(ctx, ReadQuery{Match: match, Players: []string{player}, AfterSeq: -1})
		return view.Totals[player].HasLeft, err
	}
	return err == nil && member.Role == PlayerRole, err
}

// Expel removes a player's session from an arena on all nodes. It pushes the frame
// to that session, unless the frame is nil.
func (p *places) Expel(ctx context.Context, match, player string, frame []byte) {
	var frames [][]byte
	if frame != nil {
		frames = append(frames, frame)
	}
	if local := p.findLocalMatch(match); local != nil {
		p.expel(local, player, nil, frames)
	}
	p.sendToOtherNodes(ctx, kindExpel, map[string][]byte{match: messageHeader{Match: match, Player: player}.encode(frames...)})
}

// expel removes a player's session from an arena and pushes frames to it. If only is not
// nil, it removes no other session.
func (p *places) expel(local *localMatch, player string, only Subscriber, frames [][]byte) {
	local.mu.Lock()
	defer local.mu.Unlock()
	session := local.sessions[player]
	if only != nil && session != only {
		return
	}
	delete(local.sessions, player)
	local.members.remove(player)
	p.removeAttachedMatch(local, player)
	if session != nil && len(frames) > 0 {
		session.Push("", frames...)
	}
}

// placesChunkSize is how many places are looked up per call.
const placesChunkSize = 500

// checkPlaces removes sessions from an arena whose places have ended without a
// message to this node. It checks only if places have ended since the last
// clean check. It removes a session only when two checks in a row find no place,
// because the message may be on its way or the player may be rejoining.
func (p *places) checkPlaces(ctx context.Context, local *localMatch) error {
	local.mu.Lock()
	ended, isChecked := local.state.EndedPlaces, local.state.EndedPlaces == local.checkedEndedPlaces
	sessions, suspects, withoutPlace := maps.Clone(local.sessions), local.withoutPlace, make(map[string]Subscriber)
	local.mu.Unlock()
	if local.plan.Arena == nil || isChecked {
		return nil
	}
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(sessions)), placesChunkSize) {
		members, err := p.Places.Members(ctx, local.plan.ID, chunk...)
		if err != nil {
			return err
		}
		for _, player := range chunk {
			session := sessions[player]
			if _, hasPlace := members[player]; hasPlace {
				continue
			}
			if suspects[player] != session {
				withoutPlace[player] = session
				continue
			}
			p.expel(local, player, session, [][]byte{protocol.EncodePush(protocol.TypeArenaKicked, protocol.ArenaEnd{
				ArenaID: local.plan.Arena.ID, Reason: "kicked",
			})})
		}
	}
	local.mu.Lock()
	defer local.mu.Unlock()
	if local.withoutPlace = withoutPlace; len(withoutPlace) == 0 {
		local.checkedEndedPlaces = ended
	}
	return nil
}
