package sink

import (
	"errors"
	"strings"
	"testing"

	"laststand/internal/eventq"
)

// pi is one of the PIs of the test system.
const pi = "1fffbkmd9ebtwi7u7f4oswm9li6twjydqs7qjv"

func verified() eventq.Behaviour {
	return eventq.Behaviour{Type: eventq.Online, Session: "s1", Account: eventq.Verified, PI: pi, At: vectorNow - 2000}
}

func guest() eventq.Behaviour {
	return eventq.Behaviour{Type: eventq.Offline, Session: "s2", Account: eventq.Guest, Device: "d", Player: "p", At: vectorNow - 2000}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		of     eventq.Behaviour
		change func(*eventq.Behaviour)
		want   error
	}{
		"verified":                  {verified(), func(*eventq.Behaviour) {}, nil},
		"guest":                     {guest(), func(*eventq.Behaviour) {}, nil},
		"a pi in capitals":          {verified(), func(b *eventq.Behaviour) { b.PI = strings.ToUpper(pi) }, nil},
		"a guest without device":    {guest(), func(b *eventq.Behaviour) { b.Device = "" }, nil},
		"a guest without player":    {guest(), func(b *eventq.Behaviour) { b.Player = "" }, nil},
		"a guest with neither":      {guest(), func(b *eventq.Behaviour) { b.Device, b.Player = "", "" }, errGuest},
		"another type":              {guest(), func(b *eventq.Behaviour) { b.Type = eventq.MatchStart }, errType},
		"no session":                {verified(), func(b *eventq.Behaviour) { b.Session = "" }, errSession},
		"no pi":                     {verified(), func(b *eventq.Behaviour) { b.PI = "" }, errPI},
		"a short pi":                {verified(), func(b *eventq.Behaviour) { b.PI = pi[1:] }, errPI},
		"a long pi":                 {verified(), func(b *eventq.Behaviour) { b.PI = pi + "a" }, errPI},
		"a strange character in it": {verified(), func(b *eventq.Behaviour) { b.PI = pi[1:] + "-" }, errPI},
		"no account":                {verified(), func(b *eventq.Behaviour) { b.Account = "" }, errAccount},
	}
	for name, test := range tests {
		b := test.of
		test.change(&b)
		if err := new(NPPA).Check(b); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"as long as it should be": {"fedcba9876543210fedcba9876543210", "fedcba9876543210fedcba9876543210"},
		"shorter":                 {"01JB6Z8M2Q4X7T9V3C5W1R0YKE", "00000001JB6Z8M2Q4X7T9V3C5W1R0YKE"},
		"longer":                  {"0123456789abcdef0123456789abcdef-", digest("0123456789abcdef0123456789abcdef-")},
		"not ASCII":               {"设备", digest("设备")},
		"with a space":            {"my phone", digest("my phone")},
	}
	for name, test := range tests {
		if got := fitID(test.text); got != test.want || len(got) != 32 {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Two sessions never get the same id, whatever their lengths.
func TestSession(t *testing.T) {
	t.Parallel()
	if long := "fedcba9876543210fedcba9876543210"; session(long) != long {
		t.Errorf("%s became %s", long, session(long))
	}
	if a, b := session("s2"), session("0s2"); a == b || len(a) != 32 || len(b) != 32 {
		t.Errorf("%s and %s", a, b)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		at, now int64 // epoch ms
		want    int64 // epoch s
	}{
		"the rest of a second":      {vectorNow - 2000, vectorNow, 1584949893},
		"the second of the report":  {1584949895000, vectorNow, 1584949895},
		"as old as can be":          {1584949716000, vectorNow, 1584949716},
		"the instant of the report": {1584949896000, 1584949896000, 1584949895},
		"a clock that is ahead":     {vectorNow + 4000, vectorNow, 1584949895},
	}
	for name, test := range tests {
		b := guest()
		b.At = test.at
		if r, err := newRecord(item(t, b), test.now); err != nil || r.At != test.want {
			t.Errorf("%s: %d, %v; want %d", name, r.At, err, test.want)
		}
	}
}

func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	stale := guest()
	stale.At = 1584949716999 // reported as of its second's beginning
	if _, err := newRecord(item(t, stale), 1584949896000); !errors.Is(err, errStale) {
		t.Errorf("3 minutes old: %v", err)
	}
	if _, err := newRecord(eventq.Item{At: vectorNow - 2000, Body: []byte("[]")}, vectorNow); !errors.Is(err, errBody) {
		t.Errorf("no behaviour: %v", err)
	}
	other := guest()
	other.Type = "answer"
	if _, err := newRecord(item(t, other), vectorNow); !errors.Is(err, errType) {
		t.Errorf("another type: %v", err)
	}
}

// The device of a player is the same everywhere, and does not reveal the player.
func TestGuestWithoutDevice(t *testing.T) {
	t.Parallel()
	devices := make(map[string]bool)
	for _, player := range []string{"p1", "p2", "p1"} {
		b := guest()
		b.Device, b.Player = "", player
		r, err := newRecord(item(t, b), vectorNow)
		if err != nil || len(r.Device) != 32 || strings.HasSuffix(r.Device, player) {
			t.Errorf("%s: %+v, %v", player, r, err)
		}
		devices[r.Device] = true
	}
	if len(devices) != 2 {
		t.Errorf("two players have the devices %v", devices)
	}
}

// The fields of a session are the same in its online and its offline.
func TestOnlineAndOfflineArePaired(t *testing.T) {
	t.Parallel()
	b := guest()
	b.Session, b.Device = strings.Repeat("a session with much to say", 3), ""
	b.Type = eventq.Online
	on, err := newRecord(item(t, b), vectorNow)
	if err != nil {
		t.Fatal(err)
	}
	b.Type = eventq.Offline
	off, err := newRecord(item(t, b), vectorNow+60_000)
	if err != nil {
		t.Fatal(err)
	}
	if on.Session != off.Session || on.Device != off.Device || on.Mode != 1 || off.Mode != 0 || on.Account != 2 {
		t.Errorf("%+v and %+v", on, off)
	}
}
