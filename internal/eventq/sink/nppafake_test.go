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
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The key and the time of the official example.
const (
	testKey = "2836e95fcd10e04b0069bb1ee659955b"
	testNow = 1584949895758
)

func exampleOptions() fakeOptions {
	return fakeOptions{
		AppID: "test-appId", BizIDs: []string{"test-bizId"}, Keys: []string{testKey}, TestCode: "code",
		Now: func() time.Time { return time.UnixMilli(testNow) },
	}
}

// request returns a request that is signed with the key of the example.
func exampleRequest(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("appId", "test-appId")
	r.Header.Set("bizId", "test-bizId")
	r.Header.Set("timestamps", strconv.Itoa(testNow))
	r.Header.Set("sign", signature(testKey, r, []byte(body)))
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
	secret, _ := hex.DecodeString(testKey)
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

// The fake accepts a message whose bytes and signature were computed by other software.
func TestVector(t *testing.T) {
	t.Parallel()
	const body = `{"data":"AAECAwQFBgcICQoLg9p0V+gbH+xWE2mRrIY2XFES972KU11Q1vFXTjmLy9G/P72qK0+G09gWOJ/WJhXEwfFloTERAQeIr5tqpebUW+xKMcx3iRIGl08U11BPIg5YX8vl1nGAiWqViejjEX8yUtEpT2Pc5QrLAb0lGagcH3gfQLfBN1dMfcp5tH4EiXk5lowqSgAzSGjlxl5yiBPaFOaR9OgU/Z3XSTVI4PJ/97LX8V8cS0TJvj8F69duTQs/bDX3d+EqYjQyWs8BklyelyGsJ1p45aAnaUbI6CNufxZGSdl/upFb55ozdNwTKUibLVv0BinWtZ/U5kpml3n/9fN8A0S7zIfxle10UgTIRGGN9QeY/R48faVZ8jhbIeKjD4LQJw=="}`
	for _, path := range []string{ProductionPath, TestPath + "/code"} {
		f := newFake(exampleOptions())
		r := exampleRequest(path, body)
		if sign := r.Header.Get("sign"); sign != "2c19547b6a54120f41668a681039f5b582fa1d85088a7a5ed78b7346a6ef99fe" {
			t.Errorf("%s: signature %s", path, sign)
		}
		if got := answerTo(t, f, r); got.Code != codeOK || string(got.Data) != `""` {
			t.Errorf("%s: %+v", path, got)
		}
		reports := f.TakeReports()
		if len(reports) != 1 || len(reports[0].Items) != 2 || reports[0].Items[1].DI != "00000000000000000000000000000001" {
			t.Errorf("%s: accepted %+v", path, reports)
		}
		if len(f.TakeReports()) > 0 {
			t.Errorf("%s: it is collected twice", path)
		}
	}
}

func TestSignatureOfAQuery(t *testing.T) {
	t.Parallel()
	r := exampleRequest("/?id=test-id&name=test-name", "")
	const body = `{"data":"CqT/33f3jyoiYqT8MtxEFk3x2rlfhmgzhxpHqWosSj4d3hq2EbrtVyx2aLj565ZQNTcPrcDipnvpq/D/vQDaLKW70O83Q42zvR0//OfnYLcIjTPMnqa+SOhsjQrSdu66ySSORCAo"}`
	if got := signature(testKey, r, []byte(body)); got != "386c03b776a28c06b8032a958fbd89337424ef45c62d0422706cca633d8ad5fd" {
		t.Errorf("signature %s", got)
	}
}

// The test repairs a request with every fault, one fault at a time. After each repair the
// next check answers.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	o := exampleOptions()
	o.Allow, o.PerSecond, o.TestCode = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, 1, "another"
	f := newFake(o)
	f.gates["test-bizId"] = &rateGate{bannedUntil: o.Now().Add(time.Second)}
	body := `{"data":"AAAA"}`
	path, method, from, content, app, biz, at, sign := "/", http.MethodGet, "198.51.100.1:1", "text/plain", "x", "x", "x", "x"
	steps := []struct {
		code   int
		repair func()
	}{
		{sysNotExist, func() { path = TestPath + "/code" }},
		{sysMethod, func() { method = http.MethodPost }},
		{sysHeaderMiss, func() { at = strconv.Itoa(testNow - 5001) }},
		{sysHeaderMiss, func() { content = "application/json; charset=utf-8" }},
		{sysIP, func() { from = "192.0.2.1:1" }},
		{sysPartner, func() { app = "test-appId" }},
		{sysPartnerDisabled, func() { biz = "test-bizId" }},
		{sysExpire, func() { at = strconv.Itoa(testNow - 5000) }},
		{sysPartnerAuth, func() { sign = "" }},
		{sysParamCheck, func() { body = sealed(t, "") }},
		{sysBusy, func() { f.gates["test-bizId"].bannedUntil = time.Time{} }},
		{testTaskNotExist, func() { f.options.TestCode = "code"; f.options.PerSecond = 0 }},
		{collNull, func() { body = sealed(t, strings.Repeat(recordText(nil)+",", 128)+recordText(nil)) }},
		{collOverLimit, func() { body = sealed(t, recordText(nil)) }},
		{codeOK, nil},
	}
	for i, step := range steps {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.RemoteAddr = from
		for name, value := range map[string]string{"Content-Type": content, "appId": app, "bizId": biz, "timestamps": at} {
			r.Header.Set(name, value)
		}
		r.Header.Set("sign", sign)
		if sign == "" {
			r.Header.Set("sign", signature(testKey, r, []byte(body)))
		}
		if got := answerTo(t, f, r); got.Code != step.code || got.Message == "" {
			t.Fatalf("step %d: %+v, want %d", i, got, step.code)
		}
		if step.repair != nil {
			step.repair()
		}
	}
}

// record returns a valid record with some changes. A nil value removes a field.
func recordText(changes map[string]any) string {
	fields := map[string]any{"no": 1, "si": strings.Repeat("s", 32), "bt": 1, "ot": testNow/1000 - 6, "ct": 2, "di": strings.Repeat("d", 32)}
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
		"just fresh":                      {map[string]any{"ot": testNow/1000 - 179}, codeOK},
		"no 0":                            {map[string]any{"no": 0}, collNoInvalid},
		"no 129":                          {map[string]any{"no": 129}, collNoInvalid},
		"without a number":                {map[string]any{"no": nil}, collNoInvalid},
		"later than the call":             {map[string]any{"ot": testNow/1000 + 1}, collTime},
		"stale":                           {map[string]any{"ot": testNow/1000 - 180}, collTime},
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
		f := newFake(exampleOptions())
		got := answerTo(t, f, exampleRequest(ProductionPath, sealed(t, recordText(test.changes))))
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

// The fake refuses an item whose time equals the time of the call, because its age is 0 ms.
func TestAnItemOfAgeZeroIsRefused(t *testing.T) {
	t.Parallel()
	if code := itemCode(fakeRecord{OT: 1000, BT: 1, CT: 2, DI: strings.Repeat("d", 32)}, 1_000_000); code != collTime {
		t.Errorf("%d", code)
	}
}

func TestWhatIsListed(t *testing.T) {
	t.Parallel()
	records := recordText(nil) + "," + recordText(map[string]any{"no": 2, "bt": 9}) + "," + recordText(nil)
	for all, want := range map[bool]string{false: "3007 3004", true: "0 3007 3004"} {
		o := exampleOptions()
		o.ListAll = all
		got := answerTo(t, newFake(o), exampleRequest(ProductionPath, sealed(t, records)))
		var data struct{ Results []result }
		if err := json.Unmarshal(got.Data, &data); err != nil || got.Code != collPartial {
			t.Fatalf("%+v, %v", got, err)
		}
		var codes []string
		for _, r := range data.Results {
			codes = append(codes, strconv.Itoa(r.Code))
		}
		if strings.Join(codes, " ") != want {
			t.Errorf("all: %v: %v, want %s", all, codes, want)
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
		if got := answerTo(t, newFake(exampleOptions()), exampleRequest(ProductionPath, body)); got.Code != sysParamCheck {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	var g rateGate
	start := time.UnixMilli(testNow)
	steps := []struct {
		ms   int64
		want bool
	}{{0, true}, {500, true}, {1000, true}, {1499, false}, {61_498, false}, {61_499, true}}
	for _, step := range steps {
		if got := g.admit(start.Add(time.Duration(step.ms)*time.Millisecond), 2); got != step.want {
			t.Errorf("after %d ms: %v", step.ms, got)
		}
	}
}
