package sink

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// messageTimeout is the largest accepted difference between timestamps and the local clock.
const messageTimeout = 5 * time.Second

// checkedRequest is a request whose headers are valid.
type checkedRequest struct {
	bizID    string
	sentAtMS int64 // timestamps
}

// checkRequest makes all checks in their order, and accepts the valid items.
func (f *fakeNPPA) checkRequest(r *http.Request, body []byte) (code int, results []result) {
	c, code := f.checkHeaders(r)
	if code != codeOK {
		return code, nil
	}
	key, signed := f.signingKey(r, body)
	if !signed {
		return sysPartnerAuth, nil
	}
	items, err := openMessage(key, body)
	if err != nil {
		return sysParamCheck, nil
	}
	if !f.admit(c.bizID) {
		return sysBusy, nil
	}
	if isTestSystem(r) && !f.isTestCase(r) {
		return testTaskNotExist, nil
	}
	switch {
	case len(items) == 0:
		return collNull, nil
	case len(items) > maxItems:
		return collOverLimit, nil
	}
	results = checkItems(items, c.sentAtMS)
	f.storeAccepted(c, items, results)
	return f.batchResult(results)
}

// checkHeaders makes the checks that do not need the key.
func (f *fakeNPPA) checkHeaders(r *http.Request) (c checkedRequest, code int) {
	c.bizID = r.Header.Get("bizId")
	at, err := strconv.ParseInt(r.Header.Get("timestamps"), 10, 64)
	c.sentAtMS = at
	switch {
	case r.URL.Path != ProductionPath && !isTestSystem(r):
		return c, sysNotExist
	case r.Method != http.MethodPost:
		return c, sysMethod
	case err != nil || !hasAllHeaders(r.Header):
		return c, sysHeaderMiss
	case !f.isAllowed(r.RemoteAddr):
		return c, sysIP
	case r.Header.Get("appId") != f.options.AppID:
		return c, sysPartner
	case !slices.Contains(f.options.BizIDs, c.bizID):
		return c, sysPartnerDisabled
	case f.options.Now().Sub(time.UnixMilli(at)).Abs() > messageTimeout:
		return c, sysExpire
	}
	return c, codeOK
}

// batchResult returns the answer to a batch: full or partial success.
func (f *fakeNPPA) batchResult(results []result) (code int, listed []result) {
	for _, r := range results {
		if r.Code != codeOK {
			code = collPartial
		}
		if r.Code != codeOK || f.options.ListAll {
			listed = append(listed, r)
		}
	}
	if code == codeOK {
		return codeOK, nil
	}
	return code, listed
}

func hasAllHeaders(h http.Header) bool {
	for _, name := range []string{"appId", "bizId", "timestamps", "sign"} {
		if h.Get(name) == "" {
			return false
		}
	}
	return strings.EqualFold(h.Get("Content-Type"), "application/json; charset=utf-8")
}

func isTestSystem(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, TestPath+"/") }

func (f *fakeNPPA) isTestCase(r *http.Request) bool {
	return f.options.TestCode != "" && r.URL.Path == TestPath+"/"+f.options.TestCode
}

func (f *fakeNPPA) isAllowed(address string) bool {
	if len(f.options.Allow) == 0 {
		return true
	}
	from, err := netip.ParseAddrPort(address)
	return err == nil && slices.ContainsFunc(f.options.Allow, func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap()) })
}

const banDuration = time.Minute

// rateGate limits the request rate of a game.
type rateGate struct {
	admittedAt  []time.Time // within the last second
	bannedUntil time.Time   // all requests are refused before this time
}

// admit admits a request of a game, or shuts the game out.
func (f *fakeNPPA) admit(biz string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gates[biz] == nil {
		f.gates[biz] = new(rateGate)
	}
	return f.options.PerSecond == 0 || f.gates[biz].admit(f.options.Now(), f.options.PerSecond)
}

func (g *rateGate) admit(now time.Time, perSecond int) bool {
	if now.Before(g.bannedUntil) {
		return false
	}
	g.admittedAt = slices.DeleteFunc(g.admittedAt, func(at time.Time) bool { return now.Sub(at) >= time.Second })
	if len(g.admittedAt) == perSecond {
		g.bannedUntil = now.Add(banDuration)
		return false
	}
	g.admittedAt = append(g.admittedAt, now)
	return true
}

// The codes of the specification that this interface returns.
const (
	codeOK = 0

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
