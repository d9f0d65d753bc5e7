package config

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"laststand/internal/ledger"
	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

func TestMaskPasswordsKeepsAddressesValid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ address, want string }{
		{"", ""},
		{"redis://cache:6379", "redis://cache:6379"},
		{"redis://cache:6379/2", "redis://cache:6379/2"},
		{"redis://u@cache", "redis://u@cache"},
		{"redis://:s3cret@cache", "redis://:xxxxx@cache"},
		{"rediss://u:s3cret@cache:6379/1", "rediss://u:xxxxx@cache:6379/1"},
		{"redis://u:s3cret@a:1,b:2", "redis://u:xxxxx@a:1,b:2"},
		{"redis://u:s3cret@a:1,redis://b:2?cluster=true", "redis://u:xxxxx@a:1,redis://b:2?cluster=true"},
		{"redis+sentinel://u:s3%2Fcret@a:1,b:2/main/3", "redis+sentinel://u:xxxxx@a:1,b:2/main/3"},
		{"postgres://db/x", "postgres://db/x"},
		{"postgres://u:s3cret@db:5432/x?sslmode=require", "postgres://u:xxxxx@db:5432/x?sslmode=require"},
		{"postgresql://u:s3cret@[::1]:5432/x", "postgresql://u:xxxxx@[::1]:5432/x"},
		{"postgres://u@db/x?password=s3cret&sslmode=disable", "postgres://u@db/x?password=xxxxx&sslmode=disable"},
		{"postgres://u@db/x?sslmode=disable&sslpassword=s3cret", "postgres://u@db/x?sslmode=disable&sslpassword=xxxxx"},
	} {
		got := maskPasswords(tt.address)
		if got != tt.want || maskPasswords(got) != got {
			t.Errorf("maskPasswords(%q) = %q, masked again %q; want %q", tt.address, got, maskPasswords(got), tt.want)
		}
		validate := redisx.Validate
		if strings.HasPrefix(tt.address, "postgres") {
			validate = ledger.Validate
		}
		if before, after := validate(tt.address), validate(got); before != nil || after != nil {
			t.Errorf("validating %q: %v; validating the masked address: %v", tt.address, before, after)
		}
	}
}

// FuzzConfigFile checks that a valid configuration is printed as a file with the same settings, and
// that no text makes the reader panic.
func FuzzConfigFile(f *testing.F) {
	sample := testenv.Need(os.ReadFile("../../cmd/server/testdata/contract.yaml"))(f)
	for _, seed := range []string{"", string(sample), "games: {a: {behaviours: }, b: {behaviours: {report: [], sink: {type: nppa}}}}", "games: {a: &g {duel: {questions: 2}}, b: *g}", "limits: 3", "games: [", "? []\n: x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := defaultWithUnsetLimits()
		if decode([]byte(text), &c) != nil || c.Validate() != nil {
			return
		}
		printed := testenv.Need(yaml.Marshal(c))(t)
		reread := defaultWithUnsetLimits()
		if err := decode(printed, &reread); err != nil {
			t.Fatalf("%q is printed as\n%s\nwhich is invalid: %v", text, printed, err)
		}
		reprinted, err := yaml.Marshal(reread)
		if err != nil || string(reprinted) != string(printed) {
			t.Fatalf("%q is printed as\n%s\nand the printed file as\n%s (%v)", text, printed, reprinted, err)
		}
	})
}
