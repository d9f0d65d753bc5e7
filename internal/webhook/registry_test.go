package webhook

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// eventTime is when the events happened, in epoch ms.
const eventTime = 1_795_000_000_123

func duelResult() *match.Result {
	return &match.Result{
		Match: "m_1", Game: game, Mode: match.Duel, StartedAt: 1000, OverAt: 2000, Reason: match.ReasonFinished, Questions: 10, Winner: "p_1",
		Standings: []match.Standing{
			{Rank: 1, Player: "p_1", Nickname: "<Ada>", Score: 300, Correct: 2, Answered: 3, Asked: 10, TimeMS: 99, LimitMS: 150},
			{Rank: 2, Player: "p_2", Nickname: "Bob", Bot: true, Score: 150, Correct: 1, Answered: 2, Asked: 10, TimeMS: 98, LimitMS: 150},
		},
	}
}

const duelData = `{"game":"com.example.quiz","match":"m_1","mode":"duel","started_at":1000,"over_at":2000,"reason":"finished","questions":10,` +
	`"counts":false,"winner":"p_1","players":2,"standings":[` +
	`{"rank":1,"player":"p_1","nickname":"<Ada>","score":300,"correct":2,"answered":3,"asked":10,"time_ms":99},` +
	`{"rank":2,"player":"p_2","nickname":"Bob","score":150,"correct":1,"answered":2,"asked":10,"time_ms":98}]}`

// Each subscribed endpoint gets the same message. No release may change its id,
// because receivers recognize repeats by it.
func TestASettledMatchIsSentToSubscribers(t *testing.T) {
	t.Parallel()
	env := newFixture(t,
		Endpoint{Game: game, Name: "rewards"}, Endpoint{Game: game, Name: "log", Events: []string{MatchSettled}, Ordered: true},
		Endpoint{Game: game, Name: "arenas", Events: []string{ArenaOver}}, Endpoint{Game: "other", Name: "rewards"})
	tasks := env.registry.TasksForResult(duelResult(), eventTime)
	body := `{"type":"match.settled","timestamp":"2026-11-18T11:06:40.123Z","data":` + duelData + `}`
	want := []taskqueue.NewTask{
		{Game: game, Topic: "webhook/com.example.quiz/rewards", Key: settledID, MaxTries: 36, Payload: []byte(body)},
		{Game: game, Topic: "webhook/com.example.quiz/log", Key: settledID, MaxTries: 36, Payload: []byte(body), Ordering: taskqueue.Ordered},
	}
	if !reflect.DeepEqual(tasks, want) {
		t.Errorf("tasks\n%s, want\n%s", describeTasks(tasks), describeTasks(want))
	}
	for _, task := range tasks {
		if err := task.Check(); err != nil {
			t.Error(err)
		}
	}
	if tasks := env.registry.TasksForResult(&match.Result{Game: "third", Match: "m_1", ArenaID: "a"}, eventTime); len(tasks) > 0 {
		t.Errorf("tasks of a game without endpoints: %s", describeTasks(tasks))
	}
}

// describeTasks formats tasks for a failed test.
func describeTasks(tasks []taskqueue.NewTask) (text string) {
	for _, n := range tasks {
		text += fmt.Sprintln(n.Game, n.Topic, n.Key, n.Ordering, n.MaxTries, string(n.Payload))
	}
	return text
}

const settledID = "evt_4j7sjfkvzx5rli2ltykxahgix6"

func TestAnArenaIsSentToSubscribers(t *testing.T) {
	t.Parallel()
	env := newFixture(t, Endpoint{Game: game, Name: "all"}, Endpoint{Game: game, Name: "arenas", Events: []string{ArenaOver}})
	result := duelResult()
	result.ArenaID, result.Teams = "a_1", []match.TeamResult{{Rank: 1, ID: "red", Name: "Red", Score: 5}}
	tasks := env.registry.TasksForResult(result, eventTime)
	var got []string
	for _, task := range tasks {
		var body struct {
			Type string
			Data matchData
		}
		testenv.NoError(t, json.Unmarshal(task.Payload, &body))
		got = append(got, strings.TrimPrefix(task.Topic, "webhook/com.example.quiz/")+" "+body.Type)
		if body.Data.ArenaID != "a_1" || len(body.Data.Teams) != 1 || body.Data.Teams[0].ID != "red" {
			t.Errorf("data %+v", body.Data)
		}
	}
	if want := "[all match.settled all arena.over arenas arena.over]"; fmt.Sprint(got) != want {
		t.Fatalf("tasks %v, want %s", got, want)
	}
	if tasks[0].Key == tasks[1].Key || tasks[1].Key != tasks[2].Key {
		t.Errorf("keys %s, %s, %s", tasks[0].Key, tasks[1].Key, tasks[2].Key)
	}
}

func TestEventIDsDifferByTypeGameAndSubject(t *testing.T) {
	t.Parallel()
	idFormat, seen := regexp.MustCompile(`^evt_[a-z2-7]{26}$`), map[string]bool{}
	for _, e := range []event{
		{eventType: "a", game: "b", subject: "c"}, {eventType: "a", game: "bc"}, {eventType: "ab", game: "", subject: "c"}, {eventType: "a", game: "b", subject: "d"},
	} {
		if id := e.id(); !idFormat.MatchString(id) || seen[id] {
			t.Errorf("%+v has the id %s, which is malformed or one of %v", e, id, seen)
		}
		seen[e.id()] = true
	}
}

// The message of the largest match fits into a task.
func TestTheLargestMatchFitsIntoATask(t *testing.T) {
	t.Parallel()
	env := newFixture(t, Endpoint{Game: game, Name: "all", Events: []string{MatchSettled}})
	for length, listed := range map[int]int{1: 100, 64: 100, 1000: 50, 10_000: 0} {
		result := duelResult()
		result.Standings = nil
		for i := range 5000 {
			result.Standings = append(result.Standings, match.Standing{Rank: i + 1, Player: fmt.Sprint(i), Nickname: strings.Repeat("x", length)})
		}
		tasks := env.registry.TasksForResult(result, eventTime)
		if err := tasks[0].Check(); err != nil {
			t.Errorf("names of %d bytes: %v", length, err)
		}
		var body struct{ Data matchData }
		testenv.NoError(t, json.Unmarshal(tasks[0].Payload, &body))
		if n := len(body.Data.Standings); n != listed || body.Data.Players != 5000 {
			t.Errorf("names of %d bytes: %d of %d are listed", length, n, body.Data.Players)
		}
	}
}

func TestAnEndedDayGivesOneSealTask(t *testing.T) {
	t.Parallel()
	env := newFixture(t, Endpoint{Game: game, Name: "a"}, Endpoint{Game: game, Name: "b"}, Endpoint{Game: "other", Name: "a", Events: []string{MatchSettled}})
	want := []taskqueue.NewTask{{Game: game, Topic: "seal/com.example.quiz", Key: "2026-11-17", Payload: []byte(`{"at":1795000000123}`)}}
	if tasks := env.registry.TasksForEndedDay(game, "2026-11-17", eventTime); !reflect.DeepEqual(tasks, want) || tasks[0].Check() != nil {
		t.Errorf("tasks %s, want %s", describeTasks(tasks), describeTasks(want))
	}
	if tasks := env.registry.TasksForEndedDay("other", "2026-11-17", eventTime); len(tasks) > 0 {
		t.Errorf("tasks of a game without subscribers: %s", describeTasks(tasks))
	}
}

func TestTheRegistryRefusesInvalidEndpoints(t *testing.T) {
	t.Parallel()
	many := make([]Endpoint, maxEndpoints+1)
	for i := range many {
		many[i] = Endpoint{Game: game, Name: fmt.Sprint(i)}
	}
	tests := map[string]struct {
		endpoints []Endpoint
		want      string
	}{
		"no name":             {[]Endpoint{{Game: game}}, "its name"},
		"a name with /":       {[]Endpoint{{Game: game, Name: "a/b"}}, "its name"},
		"a game with a space": {[]Endpoint{{Game: "a b", Name: "a"}}, "printable"},
		"a name twice":        {[]Endpoint{{Game: game, Name: "a"}, {Game: game, Name: "a"}}, "twice"},
		"unknown events":      {[]Endpoint{{Game: game, Name: "a", Events: []string{"day.over"}}}, `"day.over"`},
		"a ping":              {[]Endpoint{{Game: game, Name: "a", Events: []string{Ping}}}, "unknown event"},
		"an event twice":      {[]Endpoint{{Game: game, Name: "a", Events: []string{DaySealed, ArenaOver, DaySealed}}}, `"day.sealed" twice`},
		"too many":            {many, "up to 16"},
	}
	for name, test := range tests {
		if _, err := NewRegistry(test.endpoints, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q in it", name, err, test.want)
		}
	}
}
