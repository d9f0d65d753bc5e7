package sink

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// newExampleFake returns a fake with the key and the time of the official example.
func newExampleFake() *fakeNPPA {
	return newFake(fakeOptions{
		AppID: "test-appId", BizIDs: []string{"test-bizId"}, Keys: []string{vectorKey},
		Now: func() time.Time { return time.UnixMilli(vectorNow) },
	})
}

// exampleRequest returns a request that is signed with the key of the example.
func exampleRequest(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, ProductionPath, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("appId", "test-appId")
	r.Header.Set("bizId", "test-bizId")
	r.Header.Set("timestamps", strconv.Itoa(vectorNow))
	r.Header.Set("sign", signature(vectorKey, r, []byte(body)))
	return r
}

// reply is an answer; Data is an object or the text "".
type reply struct {
	Code    int             `json:"errcode"`
	Message string          `json:"errmsg"`
	Data    json.RawMessage `json:"data"`
}

func answerTo(t *testing.T, f *fakeNPPA, r *http.Request) (got reply) {
	t.Helper()
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%q: %v", w.Body, err)
	}
	return got
}

// sealed encrypts a list of records.
func sealed(t *testing.T, records string) string {
	t.Helper()
	secret, _ := hex.DecodeString(vectorKey)
	block, err := aes.NewCipher(secret)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	return `{"data":"` + base64.StdEncoding.EncodeToString(gcm.Seal(nil, nil, []byte(`{"collections":[`+records+`]}`), nil)) + `"}`
}

// record returns a valid record with some changes. A nil value removes a field.
func recordText(changes map[string]any) string {
	fields := map[string]any{"no": 1, "si": strings.Repeat("s", 32), "bt": 1, "ot": vectorNow/1000 - 6, "ct": 2, "di": strings.Repeat("d", 32)}
	for name, value := range changes {
		fields[name] = value
		if value == nil {
			delete(fields, name)
		}
	}
	text, _ := json.Marshal(fields)
	return string(text)
}

func TestItemFaults(t *testing.T) {
	t.Parallel()
	const pi = "1fffbjzos82bs9cnyj1dna7d6d29zg4esnh99u"
	tests := map[string]struct {
		changes map[string]any
		want    int
	}{
		"a guest":                         {nil, codeOK},
		"a verified player":               {map[string]any{"ct": 0, "pi": pi, "di": nil}, codeOK},
		"a pi with a later birth date":    {map[string]any{"ct": 0, "pi": "1hpfml" + pi[6:]}, codeOK},
		"just fresh":                      {map[string]any{"ot": vectorNow/1000 - 179}, codeOK},
		"no 0":                            {map[string]any{"no": 0}, collNoInvalid},
		"no 129":                          {map[string]any{"no": 129}, collNoInvalid},
		"without a number":                {map[string]any{"no": nil}, collNoInvalid},
		"later than the call":             {map[string]any{"ot": vectorNow/1000 + 1}, collTime},
		"stale":                           {map[string]any{"ot": vectorNow/1000 - 180}, collTime},
		"ct 1":                            {map[string]any{"ct": 1}, collPlayerMode},
		"no ct":                           {map[string]any{"ct": nil}, collPlayerMode},
		"bt 2":                            {map[string]any{"bt": 2}, collBehaviorMode},
		"no bt":                           {map[string]any{"bt": nil}, collBehaviorMode},
		"no pi":                           {map[string]any{"ct": 0}, collPlayerIDMiss},
		"no di":                           {map[string]any{"di": nil}, collDeviceIDMiss},
		"a short di":                      {map[string]any{"di": "d"}, collDeviceIDMiss},
		"a short pi":                      {map[string]any{"ct": 0, "pi": pi[1:]}, collPlayerIDWrong},
		"a pi in capitals":                {map[string]any{"ct": 0, "pi": strings.ToUpper(pi)}, collPlayerIDWrong},
		"a pi with an invalid birth date": {map[string]any{"ct": 0, "pi": "000001" + pi[6:]}, collPlayerIDWrong},
	}
	for name, test := range tests {
		f := newExampleFake()
		got := answerTo(t, f, exampleRequest(sealed(t, recordText(test.changes))))
		if test.want == codeOK {
			if got.Code != codeOK || len(f.TakeReports()) != 1 {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if got.Code != collPartial || !strings.Contains(string(got.Data), fmt.Sprintf(`"errcode":%d,`, test.want)) || len(f.TakeReports()) != 0 {
			t.Errorf("%s: %d %s, want %d", name, got.Code, got.Data, test.want)
		}
	}
}

func TestMalformedMessages(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no JSON":          "data",
		"another field":    `{"data":"","more":1}`,
		"no Base64":        `{"data":"?"}`,
		"nothing":          `{"data":""}`,
		"a session of 31":  sealed(t, recordText(map[string]any{"si": strings.Repeat("s", 31)})),
		"a field too many": sealed(t, recordText(map[string]any{"at": 1})),
		"a number as text": sealed(t, recordText(map[string]any{"ot": "1"})),
	} {
		if got := answerTo(t, newExampleFake(), exampleRequest(body)); got.Code != sysParamCheck {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
