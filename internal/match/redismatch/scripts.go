package redismatch

import (
	"embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/redisx"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	createMatchScript          = newScript("create_match")
	tombstoneScript            = newScript("tombstone")
	readMatchScript            = newScript("read_match")
	findRecordScript           = newScript("find_record")
	applyStepScript            = newScript("apply_step")
	postponeHostDeadlineScript = newScript("postpone_host_deadline")
	removeOrphanScript         = newScript("remove_orphan")
	markSettledScript          = newScript("mark_settled")
	offerAgainScript           = newScript("offer_again")
	claimAnswersScript         = newScript("claim_answers")

	acceptAnswersScript = newScript("accept_answers")
	raiseVersionScript  = newScript("raise_version")
	addSeatScript       = newScript("add_seat")
	addWatcherScript    = newScript("add_watcher")
	removePlaceScript   = newScript("remove_place")
	lockLobbyScript     = newScript("lock_lobby")
	setExtraScript      = newScript("set_extra")
)

func newScript(name string) *redis.Script { return redis.NewScript(redisx.JoinScript(luaFiles, name)) }

// connection is a client and what scripts run on. Scripts may share pipelines.
type connection struct {
	client  redis.UniversalClient
	scripts redis.Scripter
}
