package sink

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"laststand/internal/eventq"
)

// The key and headers of the official example.
const (
	vectorKey = "2836e95fcd10e04b0069bb1ee659955b"
	vectorNow = 1584949895758

	vectorHeaders = "appIdtest-appIdbizIdtest-bizIdtimestamps1584949895758"
)

// The example of the specification's sections 4 and 5.
func TestOfficialVector(t *testing.T) {
	t.Parallel()
	const (
		plain = `{"ai":"test-accountId","name":"用户姓名","idNum":"371321199012310912"}`
		body  = `{"data":"CqT/33f3jyoiYqT8MtxEFk3x2rlfhmgzhxpHqWosSj4d3hq2EbrtVyx2aLj565ZQNTcPrcDipnvpq/D/vQDaLKW70O83Q42zvR0//OfnYLcIjTPMnqa+SOhsjQrSdu66ySSORCAo"}`
		sign  = "386c03b776a28c06b8032a958fbd89337424ef45c62d0422706cca633d8ad5fd"
	)
	k := vectorKeyOf(t)
	if got := string(k.seal(unhex(t, "0aa4ffdf77f78f2a2262a4fc"), []byte(plain))); got != body {
		t.Errorf("body %s", got)
	}
	const parameters = "appIdtest-appIdbizIdtest-bizIdidtest-idnametest-nametimestamps1584949895758"
	if got := k.sign(parameters, []byte(body)); got != sign {
		t.Errorf("signature %s", got)
	}
}

// Two behaviours, from what is queued to what is signed.
func TestCollectionVector(t *testing.T) {
	t.Parallel()
	const (
		plain = `{"collections":[{"no":1,"si":"0123456789abcdef0123456789abcdef","bt":1,"ot":1584949894,"ct":0,"pi":"1fffbjzos82bs9cnyj1dna7d6d29zg4esnh99u"},` +
			`{"no":2,"si":"fedcba9876543210fedcba9876543210","bt":0,"ot":1584949895,"ct":2,"di":"00000000000000000000000000000001"}]}`
		body = `{"data":"AAECAwQFBgcICQoLg9p0V+gbH+xWE2mRrIY2XFES972KU11Q1vFXTjmLy9G/P72qK0+G09gWOJ/WJhXEwfFloTERAQeIr5tqpebUW+xKMcx3iRIGl08U11BPIg5YX8vl1nGAiWqViejjEX8yUtEpT2Pc5QrLAb0lGagcH3gfQLfBN1dMfcp5tH4EiXk5lowqSgAzSGjlxl5yiBPaFOaR9OgU/Z3XSTVI4PJ/97LX8V8cS0TJvj8F69duTQs/bDX3d+EqYjQyWs8BklyelyGsJ1p45aAnaUbI6CNufxZGSdl/upFb55ozdNwTKUibLVv0BinWtZ/U5kpml3n/9fN8A0S7zIfxle10UgTIRGGN9QeY/R48faVZ8jhbIeKjD4LQJw=="}`
		sign = "2c19547b6a54120f41668a681039f5b582fa1d85088a7a5ed78b7346a6ef99fe"
	)
	report := newReport(eventq.Batch{Now: vectorNow, Items: []eventq.Item{
		item(t, eventq.Behaviour{Type: eventq.Online, At: 1584949894000, Session: "0123456789abcdef0123456789abcdef", Account: eventq.Verified, PI: "1FFFBJZOS82BS9CNYJ1DNA7D6D29ZG4ESNH99U"}),
		item(t, eventq.Behaviour{Type: eventq.Offline, At: 1584949895300, Session: "fedcba9876543210fedcba9876543210", Account: eventq.Guest, Device: "1", Player: "p"}),
	}})
	got, err := json.Marshal(report)
	if err != nil || string(got) != plain {
		t.Fatalf("plaintext %s, %v", got, err)
	}
	k := vectorKeyOf(t)
	sealed := k.seal(unhex(t, "000102030405060708090a0b"), got)
	if string(sealed) != body {
		t.Errorf("body %s", sealed)
	}
	if got := k.sign(vectorHeaders, sealed); got != sign {
		t.Errorf("signature %s", got)
	}
}

func TestSignatureOfAQueryWithoutBody(t *testing.T) {
	t.Parallel()
	if got := vectorKeyOf(t).sign("aitest-accountId"+vectorHeaders, nil); got != "f1eccfcfbe5a0b638e907ada59a72bf90f42c23bfb0183e61cda7cb2bad3d91a" {
		t.Errorf("signature %s", got)
	}
}

func TestParseKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "2836e95f", vectorKey + vectorKey[:16], "2836e95fcd10e04b0069bb1ee659955g", vectorKey + "\n"} {
		if _, err := parseKey(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
}

func vectorKeyOf(t *testing.T) key {
	t.Helper()
	k, err := parseKey(vectorKey)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// item queues a behaviour.
func item(t *testing.T, b eventq.Behaviour) eventq.Item {
	t.Helper()
	body, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return eventq.Item{ID: b.ID, At: b.At, QueuedAt: b.At, Body: body}
}
