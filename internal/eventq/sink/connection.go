package sink

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"

	"laststand/internal/eventq"
)

// outcomeOfError is the outcome of an attempt without an answer. The batch may
// have arrived. Then the receiver recognizes the retry by the id of the message.
func outcomeOfError(err error) eventq.Outcome {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the URL, which may hold a secret
	}
	if blocked, ok := errors.AsType[interface {
		error
		Blocked() bool
	}](err); ok && blocked.Blocked() {
		return eventq.Outcome{Delivery: eventq.Forbidden, Code: "blocked", Err: blocked}
	}
	code := connectionErrorCode(err)
	if code == "transport" {
		err = errExchange
	}
	return eventq.Outcome{Delivery: eventq.TryAgain, Code: code, Err: err}
}

// errExchange replaces errors that may quote the data that was read.
var errExchange = errors.New("the exchange broke off")

// connectionErrorCode returns why there was no answer, as a code from a closed set.
func connectionErrorCode(err error) string {
	if errors.Is(err, context.Canceled) {
		return "canceled"
	}
	if hasType[*net.DNSError](err) {
		return "dns"
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return "timeout"
	}
	operation, ok := errors.AsType[*net.OpError](err)
	if ok && operation.Op == "dial" {
		return "dial"
	}
	// A TLS alert is an OpError too.
	if ok && (operation.Op == "remote error" || operation.Op == "local error") ||
		hasType[*tls.CertificateVerificationError](err) || hasType[tls.RecordHeaderError](err) ||
		errors.Is(err, http.ErrSchemeMismatch) {
		return "tls"
	}
	return "transport"
}

func hasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
