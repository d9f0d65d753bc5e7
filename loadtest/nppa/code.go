package nppa

// The codes of the specification that this interface returns.
const (
	ok = 0

	sysNotExist        = 1002
	sysMethod          = 1003
	sysHeaderMiss      = 1004
	sysIP              = 1005
	sysBusy            = 1006
	sysExpire          = 1007
	sysPartner         = 1008
	sysPartnerDisabled = 1009
	sysPartnerAuth     = 1011
	sysParamCheck      = 1012

	collPartial       = 3001
	collNull          = 3002
	collOverLimit     = 3003
	collNoInvalid     = 3004
	collTime          = 3005
	collPlayerMode    = 3006
	collBehaviorMode  = 3007
	collPlayerIDMiss  = 3008
	collDeviceIDMiss  = 3009
	collPlayerIDWrong = 3010
	testTaskNotExist  = 4002
)

var messages = map[int]string{
	ok:                 "ok",
	1001:               "SYS ERROR",
	sysNotExist:        "SYS REQ RESOURCE NOT EXIST",
	sysMethod:          "SYS REQ METHOD ERROR",
	sysHeaderMiss:      "SYS REQ HEADER MISS ERROR",
	sysIP:              "SYS REQ IP ERROR",
	sysBusy:            "SYS REQ BUSY ERROR",
	sysExpire:          "SYS REQ EXPIRE ERROR",
	sysPartner:         "SYS REQ PARTNER ERROR",
	sysPartnerDisabled: "SYS REQ PARTNER AUTH DISABLE",
	1010:               "SYS REQ AUTH ERROR",
	sysPartnerAuth:     "SYS REQ PARTNER AUTH ERROR",
	sysParamCheck:      "SYS REQ PARAM CHECK ERROR",
	collPartial:        "BUS COLL PARTIAL ERROR",
	collNull:           "BUS COLL BEHAVIOR NULL ERROR",
	collOverLimit:      "BUS COLL OVER LIMIT COUNT",
	collNoInvalid:      "BUS COLL NO INVALID",
	collTime:           "BUS COLL BEHAVIOR TIME ERROR",
	collPlayerMode:     "BUS COLL PLAYER MODE INVALID",
	collBehaviorMode:   "BUS COLL BEHAVIOR MODE INVALID",
	collPlayerIDMiss:   "BUS COLL PLAYERID MISS",
	collDeviceIDMiss:   "BUS COLL DEVICEID MISS",
	collPlayerIDWrong:  "BUS COLL PLAYERID INVALID",
	4001:               "TEST SYS ERROR",
	testTaskNotExist:   "TEST TASK NOT EXIST",
	4003:               "TEST PARAM INVALID ERROR",
}
