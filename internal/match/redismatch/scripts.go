package redismatch

import (
	"embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	createMatchScript          = newScript("create_match")
	tombstoneScript            = newScript("tombstone")
	readMatchScript            = newScript("read_match")
	findRecordScript           = newScript("find_record")
	applyStepScript            = newScript("check_step", "end_match", "apply_step")
	postponeHostDeadlineScript = newScript("postpone_host_deadline")
	removeOrphanScript         = newScript("remove_orphan")
	markSettledScript          = newScript("mark_settled")
	markNotifiedScript         = newScript("mark_notified")

	acceptDuelScript        = newScript("judge_answers", "push_answer_seen", "accept_answers")
	acceptSurvivalScript    = newScript("judge_answers", "rank_survivor", "accept_answers")
	acceptBuzzerWrongScript = newScript("judge_answers", "lock_out_team", "accept_answers")

	addSeatScript     = newScript("add_seat")
	addWatcherScript  = newScript("add_watcher")
	removePlaceScript = newScript("remove_place", "forfeit_place", "retract_answer")
	lockLobbyScript   = newScript("lock_lobby")
)

func newScript(fragments ...string) *redis.Script {
	return redis.NewScript(lua.Join(luaFiles, fragments...))
}
