package sink

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

const (
	maxItems     = 128
	maxAge       = 180 * time.Second
	base26Digits = "0123456789abcdefghijklmnop"
)

// fakeRecord is an item with the field names of the interface. A missing number is -1.
type fakeRecord struct {
	No int    `json:"no"`
	SI string `json:"si"`
	BT int    `json:"bt"` // 0 offline, 1 online
	OT int64  `json:"ot"` // epoch s
	CT int    `json:"ct"` // 0 verified, 2 guest
	DI string `json:"di,omitempty"`
	PI string `json:"pi,omitempty"`
}

// UnmarshalJSON distinguishes a missing number from 0.
func (r *fakeRecord) UnmarshalJSON(text []byte) error {
	type plain fakeRecord
	p := plain{No: -1, BT: -1, OT: -1, CT: -1}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return err
	}
	*r = fakeRecord(p)
	return nil
}

// checkItems returns a result for each item.
func checkItems(items []fakeRecord, at int64) []result {
	seen := make(map[int]bool)
	results := make([]result, len(items))
	for i, item := range items {
		code := itemCode(item, at)
		if item.No < 1 || item.No > maxItems || seen[item.No] {
			code = collNoInvalid
		}
		seen[item.No] = true
		results[i] = result{No: item.No, Code: code, Message: fakeText(code)}
	}
	return results
}

func itemCode(r fakeRecord, at int64) int {
	age := time.Duration(at-r.OT*1000) * time.Millisecond
	switch {
	case age <= 0 || age >= maxAge:
		return collTime
	case r.CT != 0 && r.CT != 2:
		return collPlayerMode
	case r.BT != 0 && r.BT != 1:
		return collBehaviorMode
	case r.CT == 0 && r.PI == "":
		return collPlayerIDMiss
	case r.CT == 2 && len(r.DI) != 32:
		return collDeviceIDMiss
	case r.CT == 0 && !isValidPI(r.PI):
		return collPlayerIDWrong
	}
	return codeOK
}

// isValidPI reports whether a player id is valid: 38 characters, of which the first 6 are a
// date of birth, YYYYMMDD in base 26.
func isValidPI(pi string) bool {
	if len(pi) != 38 || strings.ToLower(pi) != pi || strings.Trim(pi[:6], base26Digits) != "" {
		return false
	}
	day, err := strconv.ParseInt(pi[:6], 26, 64)
	if err != nil {
		return false
	}
	_, err = time.Parse("20060102", strconv.FormatInt(day, 10))
	return err == nil
}
