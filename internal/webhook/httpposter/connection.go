package httpposter

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// The reasons of a try without an answer. It may have arrived: the message's id
// tells the endpoint so when it comes again.
var (
	errTime     = errors.New("the endpoint did not answer in time")
	errExchange = errors.New("the exchange with the endpoint broke off")
)

// lost is such an error in words that an operator may see: without the URL, which
// may hold a secret, and without what was read.
func describeError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if blocked, ok := errors.AsType[interface {
		error
		Blocked() bool
	}](err); ok && blocked.Blocked() {
		return blocked
	}
	switch late, ok := errors.AsType[net.Error](err); {
	case errors.Is(err, context.Canceled), hasType[*net.DNSError](err):
		return err
	case ok && late.Timeout():
		return errTime
	case isDialError(err), isTLS(err):
		return err
	}
	return errExchange
}

func isDialError(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}

// isTLS: an alert of TLS is an OpError too.
func isTLS(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && (operation.Op == "remote error" || operation.Op == "local error") ||
		hasType[*tls.CertificateVerificationError](err) || hasType[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch)
}

func hasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
