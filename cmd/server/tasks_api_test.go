package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// tasksClient calls the tasks API of a node for the producers and workers of a game.
type tasksClient struct {
	t          *testing.T
	url, token string
}

func newTasksClient(t *testing.T, node *testNode, game string) tasksClient {
	t.Helper()
	token := node.run(t, 0, "token", "--game="+game, "--role=service", "--sub=worker")
	return tasksClient{t, node.url + "/v1/games/" + game + "/tasks", strings.TrimSpace(token)}
}

// call sends a request, decodes its answer into result, and returns the status. The status is 0
// if there was no answer.
func (s tasksClient) call(method, path, body string, result any) int {
	return send(s.t, method, s.url+path, s.token, body).decode(s.t, result)
}

// claimedTask is a task that a worker has claimed.
type claimedTask struct {
	ID, Topic, Key string
	Fence          int64
	Tries          int
	Payload        json.RawMessage
}

func (c claimedTask) lease() string { return fmt.Sprintf(`{"id":%q,"fence":%d}`, c.ID, c.Fence) }

// enqueue adds a task for each key, and returns how many of them are new.
func (s tasksClient) enqueue(topic string, keys ...string) (added int) {
	s.t.Helper()
	var bodies []string
	for _, key := range keys {
		bodies = append(bodies, fmt.Sprintf(`{"topic":%q,"key":%q,"payload":{"of":%q}}`, topic, key, key))
	}
	var out struct{ Tasks []struct{ New bool } }
	if status := s.call(http.MethodPost, "", `{"tasks":[`+strings.Join(bodies, ",")+`]}`, &out); status != http.StatusAccepted || len(out.Tasks) != len(keys) {
		s.t.Errorf("enqueued %d of %d: %d", len(out.Tasks), len(keys), status)
	}
	for _, task := range out.Tasks {
		if task.New {
			added++
		}
	}
	return added
}

func (s tasksClient) claim(kind string, lease, wait time.Duration) []claimedTask {
	s.t.Helper()
	var out struct{ Tasks []claimedTask }
	body := fmt.Sprintf(`{"kind":%q,"max":10,"lease_ms":%d,"wait_ms":%d}`, kind, lease.Milliseconds(), wait.Milliseconds())
	if status := s.call(http.MethodPost, "/claim", body, &out); status != http.StatusOK {
		s.t.Errorf("a claim is answered with %d", status)
	}
	return out.Tasks
}

// claimOne claims the only available task.
func (s tasksClient) claimOne(kind string, lease, wait time.Duration) claimedTask {
	s.t.Helper()
	tasks := s.claim(kind, lease, wait)
	if len(tasks) != 1 {
		s.t.Fatalf("claimed %+v, want one task", tasks)
	}
	return tasks[0]
}

// report reports how tries of tasks ended, and returns how many leases were lost.
func (s tasksClient) report(path, body string) int {
	s.t.Helper()
	var out struct{ Lost []struct{} }
	if status := s.call(http.MethodPost, path, body, &out); status != http.StatusOK {
		s.t.Errorf("%s is answered with %d", path, status)
	}
	return len(out.Lost)
}

func (s tasksClient) complete(task claimedTask) (lost int) {
	s.t.Helper()
	return s.report("/complete", `{"leases":[`+task.lease()+`]}`)
}

func (s tasksClient) state(task claimedTask) string {
	s.t.Helper()
	var out struct{ State string }
	if status := s.call(http.MethodGet, "/"+task.ID, "", &out); status != http.StatusOK {
		return http.StatusText(status)
	}
	return out.State
}

// The tasks of a game pass through all states over HTTP. After a lease ends, another worker of
// the same game gets the task. Other games never do.
func TestTasksPassThroughAllStatesAndStayInTheirGame(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		config := configFile(t, "games: {demo: , other: }\n")
		node := startNode(t, cli.Flags{Config: config, Data: &db.Dir, Database: &db.URL})
		demo, other := newTasksClient(t, node, "demo"), newTasksClient(t, node, "other")

		if added := demo.enqueue("mail/eu", "a", "b", "a"); added != 2 {
			t.Errorf("%d new tasks of two keys", added)
		}
		if added := demo.enqueue("mail/eu", "a"); added != 0 {
			t.Error("a task with the same key was added twice")
		}
		if got := other.claim("mail", time.Minute, 0); len(got) > 0 {
			t.Errorf("another game's worker got %+v", got)
		}
		claimed := demo.claim("mail", time.Minute, 0)
		if len(claimed) != 2 || claimed[0].Key != "a" || claimed[0].Topic != "mail/eu" || string(claimed[0].Payload) != `{"of":"a"}` || claimed[0].Tries != 0 {
			t.Fatalf("claimed %+v", claimed)
		}
		if other.complete(claimed[0]) != 1 || other.state(claimed[0]) != "Not Found" || demo.state(claimed[0]) != "claimed" {
			t.Error("another game's worker may see or end the task")
		}
		for range 2 { // a worker may repeat a report
			if demo.complete(claimed[0]) != 0 || demo.state(claimed[0]) != "done" {
				t.Error("the task could not be completed")
			}
		}
		if demo.report("/renew", `{"leases":[`+claimed[0].lease()+","+claimed[1].lease()+`],"lease_ms":1000}`) != 1 {
			t.Error("a done task was renewed, or the claimed task was not")
		}

		reclaimed := demo.claimOne("mail", time.Minute, 20*time.Second) // after the second lease has ended
		if reclaimed.ID != claimed[1].ID || reclaimed.Fence <= claimed[1].Fence || reclaimed.Tries != 1 {
			t.Errorf("claimed %+v after %+v", reclaimed, claimed[1])
		}
		if demo.complete(claimed[1]) != 1 || demo.state(reclaimed) != "claimed" {
			t.Error("a worker completed a task that another worker has claimed")
		}
		if demo.report("/fail", fmt.Sprintf(`{"tasks":[{"id":%q,"fence":%d,"error":"why","retry_after_ms":1}]}`, reclaimed.ID, reclaimed.Fence)) != 0 {
			t.Error("the failure is lost")
		}
		reclaimed = demo.claimOne("mail", time.Minute, 20*time.Second)
		if demo.report("/fail", fmt.Sprintf(`{"tasks":[{"id":%q,"fence":%d,"error":"never","final":true}]}`, reclaimed.ID, reclaimed.Fence)) != 0 || demo.state(reclaimed) != "dead" {
			t.Errorf("after a final failure the task is %s", demo.state(reclaimed))
		}
		checkContains(t, node.run(t, 0, "tasks", "list"), reclaimed.ID, "own:demo~mail/eu", "never")
	})
}

// A claim that waits gets a task as soon as there is one. It gets an answer when its node
// stops.
func TestAWaitingClaimGetsANewTask(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		node := startNode(t, cli.Flags{Data: &db.Dir, Database: &db.URL})
		demo := newTasksClient(t, node, "demo")
		claimed := make(chan []claimedTask)
		startClaim := func() {
			go func() { claimed <- demo.claim("mail", time.Minute, 20*time.Second) }()
			waitUntil(t, "a claim waits", func() bool { return sumMetric(t, node.opsURL, "laststand_game_tasks_polls") == 1 })
		}
		startClaim()
		demo.enqueue("mail", "a")
		if tasks := <-claimed; len(tasks) != 1 || tasks[0].Key != "a" {
			t.Errorf("claimed %+v", tasks)
		}
		startClaim()
		node.stop()
		if tasks := <-claimed; len(tasks) != 0 {
			t.Errorf("claimed %+v", tasks)
		}
	})
}
