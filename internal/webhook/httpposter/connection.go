package httpposter

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// The errors of an attempt without a reply. The message may have arrived all the
// same. Then the endpoint recognizes the retry by the id of the message.
var (
	errTimeout   = errors.New("the endpoint did not answer in time")
	errBrokenOff = errors.New("the exchange with the endpoint broke off")
)

// describeError returns an error that operators may see: without the URL, which may
// contain a secret, and without the data that was read.
func describeError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return blocked
	}
	switch netErr, ok := errors.AsType[net.Error](err); {
	case errors.Is(err, context.Canceled), hasType[*net.DNSError](err):
		return err
	case ok && netErr.Timeout():
		return errTimeout
	case isDialError(err), isTLSError(err):
		return err
	}
	return errBrokenOff
}

func isDialError(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}

// isTLSError returns true if TLS failed. A TLS alert is a net.OpError too.
func isTLSError(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && (operation.Op == "remote error" || operation.Op == "local error") ||
		hasType[*tls.CertificateVerificationError](err) || hasType[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch)
}

func hasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
