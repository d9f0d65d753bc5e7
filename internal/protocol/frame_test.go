package protocol

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestReadRequestReturnsTheRequestOrAnError(t *testing.T) {
	t.Parallel()
	testCases := []struct {
		name, frame string
		want        string // a code, "malformed" or ""
	}{
		{"whole", `{"id":7,"type":"ping","data":{"at":1}}`, ""},
		{"no data", `{"id":0,"type":"duel.leave"}`, ""},
		{"largest id", `{"id":9007199254740991,"type":"ping"}`, ""},
		{"id too large", `{"id":9007199254740993,"type":"ping"}`, "bad_request"},
		{"no id", `{"type":"ping"}`, "bad_request"},
		{"null id", `{"id":null,"type":"ping"}`, "bad_request"},
		{"text id", `{"id":"7","type":"ping"}`, "bad_request"},
		{"negative id", `{"id":-1,"type":"ping"}`, "bad_request"},
		{"broken id", `{"id":1.5,"type":"ping"}`, "bad_request"},
		{"unknown field", `{"id":7,"type":"ping","extra":1}`, "bad_request"},
		{"field of another case", `{"id":7,"type":"ping","Data":{}}`, "bad_request"},
		{"no type", `{"id":7}`, "malformed"},
		{"type of another case", `{"id":7,"Type":"ping"}`, "malformed"},
		{"null type", `{"id":7,"type":null}`, "malformed"},
		{"type no text", `{"id":7,"type":3}`, "malformed"},
		{"list", `[1,2]`, "malformed"},
		{"null", `null`, "malformed"},
		{"cut", `{"id":7`, "malformed"},
		{"empty", ``, "malformed"},
	}
	for _, testCase := range testCases {
		t.Run(testCase.name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadRequest([]byte(testCase.frame))
			if got := errorKind(err); got != testCase.want {
				t.Fatalf("ReadRequest(%s) = %v, want %q", testCase.frame, err, testCase.want)
			}
		})
	}
}

func TestReadRequestReturnsTheIDOfARefusedFrame(t *testing.T) {
	t.Parallel()
	request, err := ReadRequest([]byte(`{"id":7,"type":"ping","extra":1}`))
	if err == nil || request.ID == nil || *request.ID != 7 {
		t.Fatalf("got id %v, err %v; want id 7 beside an error", request.ID, err)
	}
}

func TestDecodeRefusesUnknownAndWrongFields(t *testing.T) {
	t.Parallel()
	testCases := []struct {
		name, data string
		into       any
		want       string
	}{
		{"answer", `{"match":"m_1","question":0,"choice":1}`, &Answer{}, ""},
		{"unknown field", `{"match":"m_1","question":0,"guess":1}`, &Answer{}, "bad_request"},
		{"field of another case", `{"Match":"m_1"}`, &Answer{}, "bad_request"},
		{"wrong type", `{"match":1}`, &Answer{}, "bad_request"},
		{"list", `[]`, &Answer{}, "bad_request"},
		{"nothing", ``, &Empty{}, ""},
		{"resume", `{"token":"t","resume":{"match":"m","seq":3}}`, &Hello{}, ""},
		{"no token", `{}`, &Hello{}, "bad_request"},
		{"null token", `{"token":null}`, &Hello{}, "bad_request"},
		{"resume without seq", `{"token":"t","resume":{"match":"m"}}`, &Hello{}, "bad_request"},
		{"sync without seq", `{"match":"m"}`, &Resume{}, "bad_request"},
		{"no resume", `{"token":"t","resume":null}`, &Hello{}, ""},
		{"null among choices", `{"match":"m","question":0,"choices":[0,null]}`, &Answer{}, "bad_request"},
		{"unknown field inside", `{"token":"t","resume":{"match":"m","seq":3,"x":1}}`, &Hello{}, "bad_request"},
		{"arena", `{"mode":"buzzer","name":"A","teams":[{"id":"x","name":"X"}],"questions":{"count":3},"pace":"auto"}`, &NewArena{}, ""},
		{"arena without teams", `{"mode":"survival","name":"A","teams":null,"questions":{"count":3},"pace":"auto"}`, &NewArena{}, ""},
		{"arena without questions", `{"mode":"survival","name":"A","pace":"auto"}`, &NewArena{}, "bad_request"},
		{"unknown field in a list", `{"mode":"buzzer","name":"A","teams":[{"id":"x","name":"X"},{"id":"y","name":"Y","z":1}],"questions":{},"pace":"auto"}`, &NewArena{}, "bad_request"},
		{"field of another case in a list", `{"mode":"buzzer","name":"A","teams":[{"ID":"x","name":"X"}],"questions":{},"pace":"auto"}`, &NewArena{}, "bad_request"},
		{"null in a list", `{"mode":"buzzer","name":"A","teams":[null],"questions":{},"pace":"auto"}`, &NewArena{}, "bad_request"},
		{"list of a wrong type", `{"mode":"buzzer","name":"A","teams":["x"],"questions":{},"pace":"auto"}`, &NewArena{}, "bad_request"},
		{"unknown field in questions", `{"mode":"buzzer","name":"A","questions":{"count":3,"x":1},"pace":"auto"}`, &NewArena{}, "bad_request"},
		{"join without a code", `{"team":"x"}`, &ArenaJoin{}, "bad_request"},
		{"next without after", `{"arena_id":"a_1"}`, &ArenaNext{}, "bad_request"},
		{"next after text", `{"arena_id":"a_1","after":"0"}`, &ArenaNext{}, "bad_request"},
		{"kick without a player", `{"arena_id":"a_1","ban":true}`, &ArenaKick{}, "bad_request"},
		{"reference with more", `{"arena_id":"a_1","after":0}`, &ArenaRef{}, "bad_request"},
	}
	for _, testCase := range testCases {
		t.Run(testCase.name, func(t *testing.T) {
			t.Parallel()
			err := Request{Type: "x", Data: json.RawMessage(testCase.data)}.Decode(testCase.into)
			if got := errorKind(err); got != testCase.want {
				t.Fatalf("Decode(%s) = %v, want %q", testCase.data, err, testCase.want)
			}
		})
	}
}

func TestDecodeErrorsContainOnlyTheFieldName(t *testing.T) {
	t.Parallel()
	err := Request{Type: TypeAnswer, Data: json.RawMessage(`{"match":"m","question":0,"choice":"1"}`)}.Decode(&Answer{})
	if err == nil || !strings.Contains(err.Error(), `field "choice"`) {
		t.Fatalf("%v; want it to name the field choice", err)
	}
}

func TestRepliesAndPushesAreEncoded(t *testing.T) {
	t.Parallel()
	id := int64(7)
	testCases := []struct{ got, want string }{
		{string(EncodeReply(&id, TypeDuelLeft, Empty{})), `{"re":7,"type":"duel.left","data":{}}`},
		{string(EncodeReply(nil, TypeError, Errorf(CodeBadRequest, "a < b"))),
			`{"re":null,"type":"error","data":{"code":"bad_request","message":"a < b"}}`},
		{string(EncodePush(TypeDraining, Draining{ReconnectAfterMS: 5})), `{"type":"draining","data":{"reconnect_after_ms":5}}`},
		{string(EncodeNumberedPush("m_1", TypeAnswerSeen, AnswerSeen{Question: 2, Player: "p"}).Frame(12)),
			`{"type":"answer.seen","match":"m_1","seq":12,"data":{"question":2,"player":"p"}}`},
	}
	for _, testCase := range testCases {
		if testCase.got != testCase.want {
			t.Errorf("got  %s\nwant %s", testCase.got, testCase.want)
		}
	}
}

// FuzzReadRequest checks that no frame makes the reader panic, and that every request
// without an error has an id.
func FuzzReadRequest(f *testing.F) {
	for _, seed := range []string{
		`{"id":7,"type":"answer","data":{"match":"m_1","question":0,"choice":1}}`,
		`{"id":1,"type":"hello","data":{"token":"x","resume":{"match":"m","seq":1}}}`,
		`{"id":2,"type":"x","data":{"mode":"buzzer","name":"A","teams":[{"id":"x"},null],"questions":{"ids":[]},"pace":"auto"}}`,
		`{"id":1e3,"type":"ping","data":{"at":"now"}}`, `{}`, `[]`, `{"type":"\ud800"}`, "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		request, err := ReadRequest(frame)
		if err == nil && request.ID == nil {
			t.Fatalf("a request without an id was accepted: %q", frame)
		}
		for _, into := range []any{&Hello{}, &Ping{}, &DuelJoin{}, &Answer{}, &Resume{}, &Empty{}, &NewArena{}, &ArenaJoin{}, &ArenaNext{}, &ArenaKick{}} {
			if err := request.Decode(into); err != nil && errorKind(err) != "bad_request" {
				t.Fatalf("Decode: %v, want bad_request", err)
			}
		}
	})
}

func errorKind(err error) string {
	var refused *Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrMalformed):
		return "malformed"
	case errors.As(err, &refused):
		return string(refused.Code)
	}
	return strings.ToUpper(err.Error())
}
