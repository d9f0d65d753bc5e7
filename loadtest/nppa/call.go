package nppa

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

// call is a request with a valid envelope.
type call struct {
	biz string
	at  int64 // timestamps
}

// judge makes all checks in their order, and accepts the valid items.
func (f *Fake) judge(r *http.Request, body []byte) (code int, results []result) {
	c, code := f.envelope(r)
	if code != ok {
		return code, nil
	}
	key, signed := f.signer(r, body)
	if !signed {
		return sysPartnerAuth, nil
	}
	items, err := open(key, body)
	if err != nil {
		return sysParamCheck, nil
	}
	if !f.pass(c.biz) {
		return sysBusy, nil
	}
	if onTestSystem(r) && !f.underTest(r) {
		return testTaskNotExist, nil
	}
	if code = countFault(items); code != ok {
		return code, nil
	}
	results = inspect(items, c.at)
	f.accept(c, items, results)
	return f.conclude(results)
}

// envelope makes the checks that do not need the key.
func (f *Fake) envelope(r *http.Request) (c call, code int) {
	c.biz = r.Header.Get("bizId")
	at, err := strconv.ParseInt(r.Header.Get("timestamps"), 10, 64)
	c.at = at
	switch {
	case r.URL.Path != ProductionPath && !onTestSystem(r):
		return c, sysNotExist
	case r.Method != http.MethodPost:
		return c, sysMethod
	case err != nil || !headersPresent(r.Header):
		return c, sysHeaderMiss
	case !f.allowed(r.RemoteAddr):
		return c, sysIP
	case r.Header.Get("appId") != f.o.AppID:
		return c, sysPartner
	case !slices.Contains(f.o.BizIDs, c.biz):
		return c, sysPartnerDisabled
	case f.o.Now().Sub(time.UnixMilli(at)).Abs() > messageTimeout:
		return c, sysExpire
	}
	return c, ok
}

// conclude returns the answer to a batch: full or partial success.
func (f *Fake) conclude(results []result) (code int, listed []result) {
	for _, r := range results {
		if r.Code != ok {
			code = collPartial
		}
		if r.Code != ok || f.o.ListAll {
			listed = append(listed, r)
		}
	}
	if code == ok {
		return ok, nil
	}
	return code, listed
}

func headersPresent(h http.Header) bool {
	for _, name := range []string{"appId", "bizId", "timestamps", "sign"} {
		if h.Get(name) == "" {
			return false
		}
	}
	return strings.EqualFold(h.Get("Content-Type"), "application/json; charset=utf-8")
}

func onTestSystem(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, TestPath+"/") }

func (f *Fake) underTest(r *http.Request) bool {
	return f.o.TestCode != "" && r.URL.Path == TestPath+"/"+f.o.TestCode
}

func (f *Fake) allowed(address string) bool {
	if len(f.o.Allow) == 0 {
		return true
	}
	from, err := netip.ParseAddrPort(address)
	return err == nil && slices.ContainsFunc(f.o.Allow, func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap()) })
}
