// Package signature signs and verifies messages by Standard Webhooks 1.0.0
// (standard-webhooks/standard-webhooks, spec/standard-webhooks.md). It uses the
// symmetric scheme v1: HMAC-SHA256 over id, timestamp and body.
//
// Words: a key is a secret that sender and receiver share. During a change of keys
// there are two, and a message has one signature for each. The tolerance limits the
// age of a message, against replays.
//
// The main functions are [Sign] and [Verify]. Start reading at signature.go, then
// key.go. retry.go reads the Retry-After header of an answer.
//
// The package must not know HTTP clients, endpoints or the content of a message. No
// error and no format verb may show a key.
package signature
