// Package nppa reports online and offline behaviours to the anti-addiction system of
// China's National Press and Publication Administration. It uses the interface for
// collecting behaviours, specification 1.8 of February 2021.
//
// Every attempt is numbered, encrypted and signed again. The interface does not say
// whether it recognizes a repeated record. The package sends a record again if its
// answer was lost, as the specification demands.
//
// Words: an errcode is the interface's answer for a batch or an item. A PI is the id
// of a verified player at the NPPA. The far side is the server of the NPPA.
//
// The main type is [Sink], which implements eventq.Sink. Start reading at Sink.Send
// in nppa.go, then record.go, report.go, request.go and answer.go. code.go lists the
// errcodes.
//
// The package must not know the queue, its retries or the rate limit. Errors must
// not contain personal data or keys.
package nppa
