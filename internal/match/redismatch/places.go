package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/redisx"
)

// Places stores who is in a match. It implements match.PlaceStore and arena.Seats.
type Places struct{ connection }

// placeKeys are the KEYS of all scripts about places, see add_seat.lua.
func (k keys) placeKeys() []string {
	return []string{
		k.match(), k.seats(), k.roles(), k.banned(), k.totals(), k.teams(), k.rank(), k.top(), k.due(), k.seq(),
	}
}

// AddSeat gives a player a seat in an arena, see arena.Seats.
func (p *Places) AddSeat(ctx context.Context, request arena.SeatRequest) (arena.PlaceReply, error) {
	team := request.Seat.Team
	request.Seat.Team = "" // the script may choose the team, and stores it next to the seat
	seat, err := json.Marshal(request.Seat)
	if err != nil {
		return arena.PlaceReply{}, wrap("add seat in", request.Match, err)
	}
	args := []any{request.Match, request.Seat.Player, seat, team, request.MaxSeats, boolArg(request.AllowLate)}
	for _, t := range request.Teams {
		args = append(args, t)
	}
	return p.runPlaceScript(ctx, addSeatScript, newKeys(request.Match).placeKeys(), args...)
}

// AddWatcher gives a person a place without a seat, see arena.Seats. A player with a
// seat keeps it; the role of the reply is then player.
func (p *Places) AddWatcher(ctx context.Context, id, player string, role match.Role) (arena.PlaceReply, error) {
	return p.runPlaceScript(ctx, addWatcherScript, newKeys(id).placeKeys(), id, player, string(role))
}

// RemovePlace ends a place in an arena, see arena.Seats. If maxBans is above 0, it
// also bans the person, unless the arena has that many bans already.
func (p *Places) RemovePlace(ctx context.Context, id, player string, maxBans int) (arena.PlaceReply, error) {
	k := newKeys(id)
	return p.runPlaceScript(ctx, removePlaceScript, append(k.placeKeys(), k.answers(), k.guard(player), k.counts()), id, ulid.Make().String(), player, maxBans, guardTTLMS)
}

// SetExtra gives a player of an arena extra time, see arena.Seats.
func (p *Places) SetExtra(ctx context.Context, id, player string, percent int64) (arena.PlaceReply, error) {
	return p.runPlaceScript(ctx, setExtraScript, newKeys(id).placeKeys(), id, player, percent, match.MaxExtraSeats)
}

// runPlaceScript runs a script about a place in an arena. The first of its ARGV
// is the match.
func (p *Places) runPlaceScript(ctx context.Context, script *redis.Script, names []string, args ...any) (arena.PlaceReply, error) {
	values, err := script.Run(ctx, p.scripts, names, args...).Slice()
	if err != nil {
		return arena.PlaceReply{}, wrap("change place in", fmt.Sprint(args[0]), err)
	}
	reply := redisx.Reply(values)
	return arena.PlaceReply{
		Verdict: arena.Verdict(reply.Text(0)), Team: reply.Text(1), Role: match.Role(reply.Text(2)),
		Phase: match.Phase(reply.Text(3)), Nodes: splitNodes(reply.Text(4)),
	}, nil
}

// LockLobby ends the joining of players, see arena.Seats. It returns
// match.ErrNotFound if there is no such match.
func (p *Places) LockLobby(ctx context.Context, id string) error {
	err := lockLobbyScript.Run(ctx, p.scripts, newKeys(id).placeKeys(), id).Err()
	if errors.Is(err, redis.Nil) {
		return match.ErrNotFound
	}
	return wrap("lock", id, err)
}

// Members returns the places of people in an arena. A player who left a running match has
// no place in it.
func (p *Places) Members(ctx context.Context, id string, people ...string) (map[string]match.Member, error) {
	k := newKeys(id)
	var seatsReply, rolesReply, leftReply *redis.SliceCmd
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		seatsReply, rolesReply = pipe.HMGet(ctx, k.seats(), people...), pipe.HMGet(ctx, k.roles(), people...)
		leftReply = pipe.HMGet(ctx, k.totals(), leftFields(people)...)
		return nil
	})
	if err != nil {
		return nil, wrap("members of", id, err)
	}
	seats, roles, left := redisx.Reply(seatsReply.Val()), redisx.Reply(rolesReply.Val()), redisx.Reply(leftReply.Val())
	members := make(map[string]match.Member, len(people))
	for i, player := range people {
		if role := roles.Text(i); role != "" {
			members[player] = match.Member{Seat: match.Seat{Player: player}, Role: match.Role(role)}
		} else if seats.Text(i) != "" && left.Text(i) == "" {
			seat, err := decodeSeat(seats.Text(i))
			if err != nil {
				return nil, wrap("members of", id, asUnreadable(err))
			}
			members[player] = match.Member{Seat: seat, Role: match.PlayerRole}
		}
	}
	return members, nil
}

// decodeSeat decodes a stored seat: its team, a newline, the rest as JSON.
func decodeSeat(stored string) (seat match.Seat, err error) {
	team, raw, _ := strings.Cut(stored, "\n")
	reader := recordReader{rest: raw}
	seat.Player, seat.Nickname = reader.readText(`{"player":`), reader.readText(`,"nickname":`)
	if reader.malformed || reader.rest != "}" { // it has more fields or escaped texts
		seat = match.Seat{}
		err = json.Unmarshal([]byte(raw), &seat)
	}
	seat.Team = team
	return seat, err
}

func decodeSeats(stored []string) ([]match.Seat, error) {
	seats := make([]match.Seat, len(stored))
	for i := range stored {
		var err error
		if seats[i], err = decodeSeat(stored[i]); err != nil {
			return nil, err
		}
	}
	return seats, nil
}

// decodeTeams decodes the hash of the teams.
func decodeTeams(flat redisx.Reply) map[string]match.TeamTotals {
	teams := make(map[string]match.TeamTotals)
	for i := 0; i+1 < len(flat); i += 2 {
		part, team, _ := strings.Cut(flat.Text(i), "|")
		t := teams[team]
		if part == "players" {
			t.Players = flat.Number(i + 1)
		} else {
			t.Score = flat.Number(i + 1)
		}
		teams[team] = t
	}
	return teams
}

// decodeCounts decodes values and their counts. The key holds an empty value, which only
// keeps it.
func decodeCounts(flat redisx.Reply) (counts []match.ValueCount) {
	for i := 0; i+1 < len(flat); i += 2 {
		if value := flat.Text(i); value != "" {
			counts = append(counts, match.ValueCount{Value: value, N: flat.Number(i + 1)})
		}
	}
	return counts
}

// Nodes lists the nodes that hold sessions of a match, see match.PlaceStore.
func (p *Places) Nodes(ctx context.Context, matches ...string) (map[string][]string, error) {
	cmds := make([]*redis.StringCmd, len(matches))
	_, _ = p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each command has its error
		for i, id := range matches {
			cmds[i] = pipe.HGet(ctx, newKeys(id).match(), "nodes")
		}
		return nil
	})
	nodes := make(map[string][]string, len(matches))
	for i, id := range matches {
		names, err := cmds[i].Result()
		if err != nil && !errors.Is(err, redis.Nil) { // a match may have expired
			return nil, wrap("nodes of matches", "", err)
		}
		nodes[id] = splitNodes(names)
	}
	return nodes, nil
}

// PostponeHostDeadline moves the deadline of an arena that waits for its host to a
// later time (cluster time, ms), see match.PlaceStore.
func (p *Places) PostponeHostDeadline(ctx context.Context, id string, dueAt int64) error {
	k := newKeys(id)
	return wrap("postpone host deadline of", id, postponeHostDeadlineScript.Run(ctx, p.scripts, []string{k.match(), k.due()}, id, dueAt).Err())
}
