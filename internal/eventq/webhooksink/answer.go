package webhooksink

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/webhook"
)

// maxReply bounds what is read of an answer, in bytes: a refusal of each item
// of the largest batch fits.
const maxReply = 256 << 10

// judge reads an answer. Its text is not repeated, as it may quote the batch.
func judge(reply *http.Response, b eventq.Batch) eventq.Outcome {
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		body = nil // the status says enough
	}
	outcome := eventq.Outcome{Fate: fate(reply.StatusCode), Code: label(reply.StatusCode)}
	if outcome.Fate == eventq.Arrived {
		return single(outcome, body, len(b.Items))
	}
	if outcome.Fate == eventq.Again {
		outcome.After = webhook.RetryAfter(reply.Header.Get("Retry-After"), time.UnixMilli(b.Now))
		outcome.Stop = reply.StatusCode == http.StatusGone
	}
	outcome.Err = fmt.Errorf("the webhook answered %s", outcome.Code)
	return outcome
}

// fate is that of all items. A redirect is not followed: the URL has to be put
// right. With 410 the batch waits, as the game is paused, for as long as it is
// fresh.
func fate(status int) eventq.Fate {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return eventq.Barred
	case http.StatusGone, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return eventq.Again
	}
	switch status / 100 {
	case 2:
		return eventq.Arrived
	case 1, 3:
		return eventq.Barred
	case 4:
		return eventq.Refused
	}
	return eventq.Again
}

// label is of a closed set, whatever the receiver makes up.
func label(status int) string {
	if http.StatusText(status) != "" {
		return strconv.Itoa(status)
	}
	return strconv.Itoa(status/100) + "xx"
}

// single applies {"results":[{"no":1,"error":"…"}]}: the item of that number,
// from 1, is refused where there is an error. All have arrived where the body is
// something else.
func single(outcome eventq.Outcome, body []byte, items int) eventq.Outcome {
	var said struct {
		Results []struct {
			No    int    `json:"no"`
			Error string `json:"error"`
		} `json:"results"`
	}
	if json.Unmarshal(body, &said) != nil {
		return outcome
	}
	fates, refused := arrived(items), 0
	for _, result := range said.Results {
		if result.Error == "" || result.No < 1 || result.No > items || fates[result.No-1] == eventq.Refused {
			continue
		}
		fates[result.No-1] = eventq.Refused
		refused++
	}
	if refused > 0 {
		outcome.Items, outcome.Err = fates, fmt.Errorf("the webhook refused %d of %d items", refused, items)
	}
	return outcome
}

func arrived(items int) []eventq.Fate {
	fates := make([]eventq.Fate, items)
	for i := range fates {
		fates[i] = eventq.Arrived
	}
	return fates
}
