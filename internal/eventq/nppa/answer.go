package nppa

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"laststand/internal/eventq"
)

// answer is what became of a request.
type answer struct {
	code       string
	delivery   eventq.Delivery // of the items that it does not name
	items      map[int]int     // the errcodes of those that it names, by number
	retryAfter time.Duration
	err        error

	tryNextKey bool // may be taken
}

// read understands the body of an answer.
func parseAnswer(body []byte) answer {
	var reply struct {
		Code *int            `json:"errcode"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil || reply.Code == nil {
		return failed("unreadable", errors.New("the answer is not one of the interface"))
	}
	code, items := *reply.Code, parseResults(reply.Data)
	a := answer{code: codeLabel(code), delivery: meaningOf(code).delivery, items: items, tryNextKey: code == codeBadSignature || code == codeBadMessage}
	switch {
	case code == codeAccepted:
	case code >= codePartial && code < 4000 && len(items) > 0:
		a.delivery = eventq.Delivered // it names what was not
	default:
		a.err = errors.New("the NPPA answers " + describeCode(code))
	}
	if code == codeBusy {
		a.retryAfter = banPeriod
	}
	return a
}

// results gives the errcodes of the items that data names. It is specified as an
// object and documented as the text "", and may be absent.
func parseResults(data json.RawMessage) map[int]int {
	var named struct {
		Results []struct {
			No   int `json:"no"`
			Code int `json:"errcode"`
		} `json:"results"`
	}
	if err := json.Unmarshal(data, &named); err != nil {
		return nil
	}
	items := make(map[int]int, len(named.Results))
	for _, r := range named.Results {
		items[r.No] = r.Code
	}
	return items
}

// failed is for a request that the interface itself gave no answer to.
func failed(code string, err error) answer {
	return answer{code: code, delivery: eventq.TryAgain, err: err}
}

// unreached names why no answer came, without the address, in which the test
// code is.
func connectionFailed(err error) answer {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	code := "network"
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		code = "canceled"
	case errors.Is(err, context.DeadlineExceeded), ok && timeout.Timeout():
		code = "timeout"
	case !isConnectionError(err):
		err = errExchange
	}
	return failed(code, fmt.Errorf("reach the NPPA: %w", err))
}

// errExchange stands for errors that may quote what was read.
var errExchange = errors.New("the exchange broke off")

// ofOurs holds for errors of the connection itself.
func isConnectionError(err error) bool {
	_, connection := errors.AsType[*net.OpError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return connection || certificate
}
