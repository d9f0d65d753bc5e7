package sink

import (
	"fmt"
	"strconv"
	"time"

	"laststand/internal/eventq"
)

// These errcodes need special handling.
const (
	codeAccepted     = 0
	codeBusy         = 1006
	codeBadSignature = 1011 // the signature is wrong, so the key is
	codeBadMessage   = 1012 // the message is wrong, so perhaps the key
	codePartial      = 3001
)

// banPeriod is how long the far side rejects all requests after it answers "busy".
const banPeriod = time.Minute

// codeMeaning is the effect of an errcode on its batch or item.
type codeMeaning struct {
	delivery eventq.Delivery
	text     string
}

// meanings lists the errcodes that this interface returns, by the specification
// and on the test system.
var meanings = map[int]codeMeaning{
	codeAccepted: {eventq.Delivered, "taken"},

	1001:             {eventq.TryAgain, "the system has a fault"},
	1002:             {eventq.Forbidden, "there is no such interface: check the URL"},
	1003:             {eventq.Forbidden, "the interface is not called so: check the URL"},
	1004:             {eventq.Forbidden, "a parameter is missing: check the app id and the biz id"},
	1005:             {eventq.Forbidden, "this server's address is not allowed: add it in the portal"},
	codeBusy:         {eventq.TryAgain, "too many requests: shut out for a minute"},
	1007:             {eventq.TryAgain, "the request had expired: check the clock"},
	1008:             {eventq.Forbidden, "the company is not known: check the app id"},
	1009:             {eventq.Forbidden, "the company or the game is not enabled: check the biz id, and the portal"},
	1010:             {eventq.Forbidden, "there is no right to this interface: see the portal"},
	codeBadSignature: {eventq.Forbidden, "the signature is wrong: check the keys"},
	codeBadMessage:   {eventq.Forbidden, "the message cannot be read: check the keys"},

	codePartial: {eventq.TryAgain, "a part failed, and it does not say which"},
	3002:        {eventq.Refused, "there was nothing in the report"},
	3003:        {eventq.Refused, "there was too much in the report"},
	3004:        {eventq.Refused, "the number is wrong"},
	3005:        {eventq.Refused, "the time is wrong"},
	3006:        {eventq.Refused, "the kind of account is wrong"},
	3007:        {eventq.Refused, "the kind of behaviour is wrong"},
	3008:        {eventq.Refused, "the pi is missing"},
	3009:        {eventq.Refused, "the device is missing"},
	3010:        {eventq.Refused, "the pi is wrong"},

	4001: {eventq.TryAgain, "the test system has a fault"},
	4002: {eventq.Forbidden, "there is no such test: check the test code"},
	4003: {eventq.Refused, "it is not what the test asks for"},
}

func meaningOf(code int) codeMeaning {
	if m, known := meanings[code]; known {
		return m
	}
	return codeMeaning{eventq.TryAgain, "the specification does not know this errcode"}
}

// describeCode uses only texts of this package. The text of the far side could
// contain personal data.
func describeCode(code int) string { return fmt.Sprintf("%d: %s", code, meaningOf(code).text) }

// errcodeLabel returns a metric label from a small set.
func errcodeLabel(code int) string {
	if _, known := meanings[code]; known {
		return strconv.Itoa(code)
	}
	return "other"
}
