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
