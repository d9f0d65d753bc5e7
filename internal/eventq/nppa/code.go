package nppa

import (
	"fmt"
	"strconv"
	"time"

	"laststand/internal/eventq"
)

// The errcodes that are more to us than their meaning.
const (
	taken   = 0
	busy    = 1006
	forged  = 1011 // the signature, so the key
	garbled = 1012 // the message, so the key perhaps
	partial = 3001
)

// ban is how long nobody is let in after busy.
const ban = time.Minute

// meaning is what an errcode does to the batch or the item that it is said of.
type meaning struct {
	fate eventq.Fate
	says string
}

// meanings are the errcodes of the specification, and of the test system, that
// this interface gives.
var meanings = map[int]meaning{
	taken: {eventq.Arrived, "taken"},

	1001:    {eventq.Again, "the system has a fault"},
	1002:    {eventq.Barred, "there is no such interface: check the URL"},
	1003:    {eventq.Barred, "the interface is not called so: check the URL"},
	1004:    {eventq.Barred, "a parameter is missing: check the app id and the biz id"},
	1005:    {eventq.Barred, "this server's address is not allowed: add it in the portal"},
	busy:    {eventq.Again, "too many requests: shut out for a minute"},
	1007:    {eventq.Again, "the request had expired: check the clock"},
	1008:    {eventq.Barred, "the company is not known: check the app id"},
	1009:    {eventq.Barred, "the company or the game is not enabled: check the biz id, and the portal"},
	1010:    {eventq.Barred, "there is no right to this interface: see the portal"},
	forged:  {eventq.Barred, "the signature is wrong: check the keys"},
	garbled: {eventq.Barred, "the message cannot be read: check the keys"},

	partial: {eventq.Again, "a part failed, and it does not say which"},
	3002:    {eventq.Refused, "there was nothing in the report"},
	3003:    {eventq.Refused, "there was too much in the report"},
	3004:    {eventq.Refused, "the number is wrong"},
	3005:    {eventq.Refused, "the time is wrong"},
	3006:    {eventq.Refused, "the kind of account is wrong"},
	3007:    {eventq.Refused, "the kind of behaviour is wrong"},
	3008:    {eventq.Refused, "the pi is missing"},
	3009:    {eventq.Refused, "the device is missing"},
	3010:    {eventq.Refused, "the pi is wrong"},

	4001: {eventq.Again, "the test system has a fault"},
	4002: {eventq.Barred, "there is no such test: check the test code"},
	4003: {eventq.Refused, "it is not what the test asks for"},
}

func meaningOf(code int) meaning {
	if m, known := meanings[code]; known {
		return m
	}
	return meaning{eventq.Again, "the specification does not know this errcode"}
}

// fault is of our own words: what the far side adds could be about a person.
func fault(code int) string { return fmt.Sprintf("%d: %s", code, meaningOf(code).says) }

// label keeps to a small set.
func label(code int) string {
	if _, known := meanings[code]; known {
		return strconv.Itoa(code)
	}
	return "other"
}
