package sink

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/httpserver"
)

// maxReply bounds how much of an answer is read, in bytes. A refusal of each item
// of the largest batch fits.
const maxReply = 256 << 10

// readAnswer reads an answer. It does not repeat the text, which may quote the
// batch.
func readAnswer(reply *http.Response, b eventq.Batch) eventq.Outcome {
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		body = nil // the status says enough
	}
	outcome := eventq.Outcome{Delivery: deliveryOf(reply.StatusCode), Code: codeLabel(reply.StatusCode)}
	if outcome.Delivery == eventq.Delivered {
		return applyItemErrors(outcome, body, len(b.Items))
	}
	if outcome.Delivery == eventq.TryAgain {
		outcome.RetryAfter = httpserver.ParseRetryAfter(reply.Header.Get("Retry-After"), time.UnixMilli(b.Now))
		outcome.Pause = reply.StatusCode == http.StatusGone
	}
	outcome.Err = fmt.Errorf("the webhook answered %s", outcome.Code)
	return outcome
}

// deliveryOf returns the delivery of all items. A redirect is not followed: the
// operator must correct the URL. With 410, the game is paused, and the batch waits
// for as long as it is fresh.
func deliveryOf(status int) eventq.Delivery {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return eventq.Forbidden
	case http.StatusGone, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return eventq.TryAgain
	}
	switch status / 100 {
	case 2:
		return eventq.Delivered
	case 1, 3:
		return eventq.Forbidden
	case 4:
		return eventq.Refused
	}
	return eventq.TryAgain
}

// codeLabel returns a label from a closed set, whatever status the receiver sends.
func codeLabel(status int) string {
	if http.StatusText(status) != "" {
		return strconv.Itoa(status)
	}
	return strconv.Itoa(status/100) + "xx"
}

// applyItemErrors applies {"results":[{"no":1,"error":"…"}]}. It refuses the items
// with an error; numbers start at 1. If the body has another form, all items have
// arrived.
func applyItemErrors(outcome eventq.Outcome, body []byte, items int) eventq.Outcome {
	var reply struct {
		Results []struct {
			No    int    `json:"no"`
			Error string `json:"error"`
		} `json:"results"`
	}
	if json.Unmarshal(body, &reply) != nil {
		return outcome
	}
	deliveries, refused := slices.Repeat([]eventq.Delivery{eventq.Delivered}, items), 0
	for _, result := range reply.Results {
		if result.Error != "" && result.No >= 1 && result.No <= items && deliveries[result.No-1] != eventq.Refused {
			deliveries[result.No-1] = eventq.Refused
			refused++
		}
	}
	if refused > 0 {
		outcome.Items, outcome.Err = deliveries, fmt.Errorf("the webhook refused %d of %d items", refused, items)
	}
	return outcome
}
