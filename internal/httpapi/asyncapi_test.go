package httpapi

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

// stringConstants returns the values of the text constants of a package whose names
// begin with prefix.
func stringConstants(t *testing.T, folder, prefix string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	var values []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, value)
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}

// messageKeys maps the message names of asyncapi.yaml to their keys.
func messageKeys(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	node, _ := asyncAPI().find("components", "messages")
	for key, m := range node.(map[string]any) {
		name := m.(map[string]any)["name"].(string)
		if strings.ReplaceAll(name, ".", "_") != key {
			t.Errorf("the message %s has the key %s", name, key)
		}
		names[name] = key
	}
	return names
}

func TestEveryMessageIsInTheContractAndViceVersa(t *testing.T) {
	t.Parallel()
	inProtocol := stringConstants(t, "../protocol", "Type")
	inContract := slices.Sorted(maps.Keys(messageKeys(t)))
	if !slices.Equal(inProtocol, inContract) {
		t.Errorf("the protocol has %q, asyncapi.yaml %q", inProtocol, inContract)
	}
}

func TestEveryMessageCodeIsInTheContractAndViceVersa(t *testing.T) {
	t.Parallel()
	node, _ := asyncAPI().find("components", "schemas", "Code", "enum")
	var inContract []string
	for _, code := range node.([]any) {
		inContract = append(inContract, code.(string))
	}
	slices.Sort(inContract)
	if inProtocol := stringConstants(t, "../protocol", "Code"); !slices.Equal(inContract, inProtocol) {
		t.Errorf("the protocol has %q, asyncapi.yaml %q", inProtocol, inContract)
	}
}

// Every message belongs to an operation, and every operation names existing
// messages.
func TestEveryMessageHasItsOperation(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	operations, _ := asyncAPI().find("operations")
	var walk func(node any)
	walk = func(node any) {
		switch n := node.(type) {
		case map[string]any:
			if ref, ok := n["$ref"].(string); ok && strings.Contains(ref, "/messages/") {
				if m, _ := asyncAPI().find(splitPointer(strings.TrimPrefix(ref, "#"))...); m == nil {
					t.Errorf("the message %s does not exist", ref)
				}
				used[ref[strings.LastIndex(ref, "/")+1:]] = true
			}
			for _, child := range n {
				walk(child)
			}
		case []any:
			for _, child := range n {
				walk(child)
			}
		}
	}
	walk(operations)
	for name, key := range messageKeys(t) {
		if !used[key] {
			t.Errorf("%s is in no operation", name)
		}
	}
}

// messageData has the Go type of the data of each message.
var messageData = map[string]any{
	protocol.TypeHello: protocol.Hello{}, protocol.TypePing: protocol.Ping{}, protocol.TypeDuelJoin: protocol.DuelJoin{},
	protocol.TypeDuelLeave: protocol.Empty{}, protocol.TypeAnswer: protocol.Answer{}, protocol.TypeMatchSync: protocol.Resume{},
	protocol.TypeMatchLeave: protocol.MatchLeave{}, protocol.TypeWelcome: protocol.Welcome{}, protocol.TypePong: protocol.Pong{},
	protocol.TypeDuelQueued: protocol.DuelQueued{}, protocol.TypeDuelLeft: protocol.Empty{}, protocol.TypeAnswered: protocol.Answered{},
	protocol.TypeMatchLeft: protocol.Empty{}, protocol.TypeMatchState: protocol.MatchState{}, protocol.TypeError: protocol.Error{},
	protocol.TypeMatchFound: protocol.MatchFound{}, protocol.TypeQuestion: protocol.Question{}, protocol.TypeAnswerSeen: protocol.AnswerSeen{},
	protocol.TypeQuestionClosed: protocol.QuestionClosed{}, protocol.TypeMatchOver: protocol.MatchOver{},
	protocol.TypeSettled: protocol.Settled{}, protocol.TypeMatchCorrected: protocol.MatchCorrected{}, protocol.TypeDraining: protocol.Draining{}, protocol.TypeOwn: protocol.Own{},
	protocol.TypeQuestionExtended: protocol.QuestionExtended{}, protocol.TypeArenaJoin: protocol.ArenaJoin{},
	protocol.TypeArenaLeave: protocol.ArenaRef{}, protocol.TypeArenaStart: protocol.ArenaRef{}, protocol.TypeArenaClose: protocol.ArenaRef{},
	protocol.TypeArenaLock: protocol.ArenaRef{}, protocol.TypeArenaNext: protocol.ArenaNext{}, protocol.TypeArenaKick: protocol.ArenaKick{},
	protocol.TypeArenaJoined: protocol.ArenaJoined{}, protocol.TypeArenaLeft: protocol.Empty{}, protocol.TypeArenaOK: protocol.Empty{},
	protocol.TypeArenaLobby: protocol.ArenaLobby{}, protocol.TypeArenaKicked: protocol.ArenaEnd{}, protocol.TypeArenaClosed: protocol.ArenaEnd{},
	protocol.TypeBoardWatch: protocol.BoardWatch{}, protocol.TypeBoardUnwatch: protocol.BoardWatch{}, protocol.TypeBoardOK: protocol.Empty{},
	protocol.TypeBoard:       leaderboard.Page{},
	protocol.TypeArenaExtend: protocol.ArenaExtend{}, protocol.TypeArenaExtended: protocol.ArenaExtended{},
	protocol.TypeOwnDeadline: protocol.OwnDeadline{},
}

func TestMessagesHaveTheFieldsOfTheContract(t *testing.T) {
	t.Parallel()
	for name, key := range messageKeys(t) {
		message, isKnown := messageData[name]
		if !isKnown {
			t.Errorf("the test has no Go type for the message %s", name)
			continue
		}
		for _, fault := range asyncAPI().fieldErrors("/components/messages/"+key+"/payload/properties/data", message) {
			t.Error(fault)
		}
	}
}

// Each example is valid, and the protocol decodes all of it.
func TestExamplesOfMessagesAreValid(t *testing.T) {
	t.Parallel()
	for name, key := range messageKeys(t) {
		list, _ := asyncAPI().find("components", "messages", key, "examples")
		if list == nil {
			t.Errorf("%s has no example", name)
			continue
		}
		for _, example := range list.([]any) {
			frame, err := json.Marshal(example.(map[string]any)["payload"])
			if err != nil {
				t.Fatal(err)
			}
			if err := asyncAPI().validate("/components/messages/"+key+"/payload", frame); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := decodeMessage(name, frame); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func decodeMessage(name string, frame []byte) error {
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(frame, &envelope); err != nil {
		return err
	}
	decoded := reflect.New(reflect.TypeOf(messageData[name])).Interface()
	decoder := json.NewDecoder(strings.NewReader(string(envelope.Data)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(decoded)
}

func TestEncodedFramesMatchTheContract(t *testing.T) {
	t.Parallel()
	requestID := int64(7)
	for key, frame := range map[string][]byte{
		"pong":     protocol.EncodeReply(&requestID, protocol.TypePong, protocol.Pong{At: json.RawMessage(`"x"`), ServerAt: 1}),
		"error":    protocol.EncodeReply(nil, protocol.TypeError, protocol.Errorf(protocol.CodeBadRequest, "no")),
		"draining": protocol.EncodePush(protocol.TypeDraining, protocol.Draining{ReconnectAfterMS: 5}),
		"answer_seen": protocol.EncodeNumberedPush("m_1", protocol.TypeAnswerSeen,
			protocol.AnswerSeen{Question: 2, Player: "p_1"}).Frame(3),
		"arena_ok":    protocol.EncodeReply(&requestID, protocol.TypeArenaOK, protocol.Empty{}),
		"arena_lobby": protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{ArenaID: "a_1", Teams: []protocol.TeamCount{}}),
		"own":         protocol.EncodePush(protocol.TypeOwn, protocol.Own{Match: "m_1", Rank: 51}),
	} {
		if err := asyncAPI().validate("/components/messages/"+key+"/payload", frame); err != nil {
			t.Errorf("%s: %v", frame, err)
		}
	}
}
