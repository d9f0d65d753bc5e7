package nppa

import (
	"fmt"
	"strconv"
	"time"

	"laststand/internal/behaviour"
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
	fate behaviour.Fate
	says string
}

// meanings are the errcodes of the specification, and of the test system, that
// this interface gives.
var meanings = map[int]meaning{
	taken: {behaviour.Arrived, "taken"},

	1001:    {behaviour.Again, "the system has a fault"},
	1002:    {behaviour.Barred, "there is no such interface: check the URL"},
	1003:    {behaviour.Barred, "the interface is not called so: check the URL"},
	1004:    {behaviour.Barred, "a parameter is missing: check the app id and the biz id"},
	1005:    {behaviour.Barred, "this server's address is not allowed: add it in the portal"},
	busy:    {behaviour.Again, "too many requests: shut out for a minute"},
	1007:    {behaviour.Again, "the request had expired: check the clock"},
	1008:    {behaviour.Barred, "the company is not known: check the app id"},
	1009:    {behaviour.Barred, "the company or the game is not enabled: check the biz id, and the portal"},
	1010:    {behaviour.Barred, "there is no right to this interface: see the portal"},
	forged:  {behaviour.Barred, "the signature is wrong: check the keys"},
	garbled: {behaviour.Barred, "the message cannot be read: check the keys"},

	partial: {behaviour.Again, "a part failed, and it does not say which"},
	3002:    {behaviour.Refused, "there was nothing in the report"},
	3003:    {behaviour.Refused, "there was too much in the report"},
	3004:    {behaviour.Refused, "the number is wrong"},
	3005:    {behaviour.Refused, "the time is wrong"},
	3006:    {behaviour.Refused, "the kind of account is wrong"},
	3007:    {behaviour.Refused, "the kind of behaviour is wrong"},
	3008:    {behaviour.Refused, "the pi is missing"},
	3009:    {behaviour.Refused, "the device is missing"},
	3010:    {behaviour.Refused, "the pi is wrong"},

	4001: {behaviour.Again, "the test system has a fault"},
	4002: {behaviour.Barred, "there is no such test: check the test code"},
	4003: {behaviour.Refused, "it is not what the test asks for"},
}

func meaningOf(code int) meaning {
	if m, known := meanings[code]; known {
		return m
	}
	return meaning{behaviour.Again, "the specification does not know this errcode"}
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
