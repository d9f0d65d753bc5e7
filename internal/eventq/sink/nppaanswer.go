package sink

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

// answer is the result of a request.
type answer struct {
	code       string
	delivery   eventq.Delivery // of the items that it does not name
	items      map[int]int     // the errcodes of the items that it names, by number
	retryAfter time.Duration
	err        error

	tryNextKey bool // the far side may accept the next key
}

// parseAnswer reads the body of an answer.
func parseAnswer(body []byte) answer {
	var reply struct {
		Code *int            `json:"errcode"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil || reply.Code == nil {
		return failed("unreadable", errors.New("the answer is not one of the interface"))
	}
	code, items := *reply.Code, parseResults(reply.Data)
	a := answer{code: errcodeLabel(code), delivery: meaningOf(code).delivery, items: items, tryNextKey: code == codeBadSignature || code == codeBadMessage}
	switch {
	case code == codeAccepted:
	case code >= codePartial && code < 4000 && len(items) > 0:
		a.delivery = eventq.Delivered // the answer names the items that did not arrive
	default:
		a.err = errors.New("the NPPA answers " + describeCode(code))
	}
	if code == codeBusy {
		a.retryAfter = banPeriod
	}
	return a
}

// parseResults returns the errcodes of the items that data names. The
// specification says that data is an object. The documentation shows the text "".
// It may also be absent.
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

// failed returns the answer of a request that got no answer of the interface.
func failed(code string, err error) answer {
	return answer{code: code, delivery: eventq.TryAgain, err: err}
}

// connectionFailed returns why no answer came. It leaves out the address, which
// contains the test code.
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

// isConnectionError reports whether the connection itself failed.
func isConnectionError(err error) bool {
	_, connection := errors.AsType[*net.OpError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return connection || certificate
}
