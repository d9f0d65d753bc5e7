package docs_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

const webhookKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// verify reports whether body was signed with a key of the form whsec_BASE64.
func verify(key string, header http.Header, body []byte, now time.Time) bool {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	sent, err2 := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if err != nil || err2 != nil || now.Sub(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%d.%s", header.Get("webhook-id"), sent, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, signature := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			return true
		}
	}
	return false
}

// delivery is a webhook request, and whether a receiver must accept it.
type delivery struct {
	Name    string            `json:"name"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Valid   bool              `json:"valid"`
}

// signedAt is when the deliveries were signed, in Unix seconds.
const signedAt = 1_795_212_345

// signedDeliveries returns requests that the server's own code has signed. Some of them were
// changed afterwards, so that receivers must refuse them.
func signedDeliveries(t *testing.T) []delivery {
	t.Helper()
	other := "whsec_" + strings.Repeat("QUJD", 8)
	body := `{"type":"match.settled","timestamp":"2026-11-20T22:05:45Z","data":{"game":"demo"}}`
	sign := func(name string, valid bool, at int64, body string, texts ...string) delivery {
		keys, err := webhook.ParseKeys(strings.Join(texts, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		headers, err := webhook.Sign(keys, "msg_1", time.Unix(at, 0), []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return delivery{name, headers, body, valid}
	}
	forged := sign("changed body", false, signedAt, body, webhookKey)
	forged.Body = strings.Replace(body, "demo", "else", 1)
	unsigned := sign("no headers", false, signedAt, body, webhookKey)
	unsigned.Headers = map[string]string{}
	return []delivery{
		sign("one key", true, signedAt, body, webhookKey),
		sign("two keys, ours second", true, signedAt, body, other, webhookKey),
		sign("text that is not ASCII", true, signedAt, `{"name":"阿达"}`, webhookKey),
		sign("another key", false, signedAt, body, other),
		sign("six minutes old", false, signedAt-360, body, webhookKey),
		sign("six minutes ahead", false, signedAt+360, body, webhookKey),
		forged, unsigned,
	}
}

// exampleBlock returns the only block of a language in docs/integrate/webhooks.md.
func exampleBlock(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("integrate/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("integrate/webhooks.md has no example in %s", language)
	}
	return block
}

func TestWebhookExampleInGoVerifies(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("examples_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), "\n"+exampleBlock(t, "go")) {
		t.Error("integrate/webhooks.md has another example in Go than this test runs")
	}
	for _, delivery := range signedDeliveries(t) {
		header := http.Header{}
		for name, value := range delivery.Headers {
			header.Set(name, value)
		}
		if got := verify(webhookKey, header, []byte(delivery.Body), time.Unix(signedAt, 0)); got != delivery.Valid {
			t.Errorf("%s: verify = %v, want %v", delivery.Name, got, delivery.Valid)
		}
	}
}

// Each program reads the deliveries from its standard input and prints the
// verdicts as a JSON list.
func TestWebhookExamplesInOtherLanguagesVerify(t *testing.T) {
	t.Parallel()
	for _, program := range []struct{ language, interpreter, file, call string }{
		{"js", "node", "verify.mjs", `
import { readFileSync } from 'node:fs';
const list = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(list.map((d) => verify('%s', d.headers, Buffer.from(d.body), %d000))));
`},
		{"python", "python3", "verify.py", `
import json, sys
print(json.dumps([verify("%s", d["headers"], d["body"].encode(), %d) for d in json.load(sys.stdin)]))
`},
	} {
		t.Run(program.language, func(t *testing.T) {
			t.Parallel()
			interpreter, ok := testenv.Interpreter(t, program.interpreter)
			if !ok {
				return
			}
			checkVerdicts(t, interpreter, program.file, exampleBlock(t, program.language)+fmt.Sprintf(program.call, webhookKey, signedAt))
		})
	}
}

func checkVerdicts(t *testing.T, interpreter, file, program string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	deliveries := signedDeliveries(t)
	input, err := json.Marshal(deliveries)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), interpreter, path)
	command.Stdin = strings.NewReader(string(input))
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []bool
	if err := json.Unmarshal(output, &verdicts); err != nil || len(verdicts) != len(deliveries) {
		t.Fatalf("printed %s: %v", output, err)
	}
	for i, delivery := range deliveries {
		if verdicts[i] != delivery.Valid {
			t.Errorf("%s: verify = %v, want %v", delivery.Name, verdicts[i], delivery.Valid)
		}
	}
}
