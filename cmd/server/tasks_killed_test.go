package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"laststand/internal/testenv"
)

// taskLoad enqueues and works on tasks of a game while nodes and the database are killed. It records
// answered requests, and repeats the others.
type taskLoad struct {
	t     *testing.T
	token string

	mu        sync.Mutex
	urls      []string          // of the current nodes
	enqueued  map[string]string // ids of tasks whose enqueueing was answered, by key
	completed map[string]int    // completions that were answered and not lost, by key
}

// request asks random nodes until one answers. It returns false if ctx ends first.
func (l *taskLoad) request(ctx context.Context, path, body string, want int, result any) bool {
	for ctx.Err() == nil {
		if l.attempt(ctx, path, body, want, result) {
			return true
		}
		time.Sleep(20 * time.Millisecond) // the node or its database is down
	}
	return false
}

func (l *taskLoad) attempt(ctx context.Context, path, body string, want int, result any) bool {
	l.mu.Lock()
	url := l.urls[rand.IntN(len(l.urls))]
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/games/demo/tasks"+path, strings.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return false
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(result) == nil && answer.StatusCode == want
}

// produce enqueues tasks until ctx ends.
func (l *taskLoad) produce(ctx context.Context, name string) {
	for number := 0; ctx.Err() == nil; number++ {
		topic, ordering := fmt.Sprint("work/", number%5), ""
		if number%5 == 0 {
			ordering = `,"ordering":"ordered"`
		}
		key := fmt.Sprintf("%s-%d", name, number)
		var out struct{ Tasks []struct{ ID string } }
		body := fmt.Sprintf(`{"tasks":[{"topic":%q,"key":%q,"max_tries":1000%s,"payload":%d}]}`, topic, key, ordering, number)
		if l.request(ctx, "", body, http.StatusAccepted, &out) {
			l.mu.Lock()
			l.enqueued[key] = out.Tasks[0].ID
			l.mu.Unlock()
		}
	}
}

// work claims tasks until ctx ends. It completes most of them, fails some, forgets
// some, and completes some after their leases have ended.
func (l *taskLoad) work(ctx context.Context) {
	for ctx.Err() == nil {
		var out struct{ Tasks []claimedTask }
		if !l.request(ctx, "/claim", `{"kind":"work","max":5,"lease_ms":1000,"wait_ms":200}`, http.StatusOK, &out) {
			return
		}
		for _, task := range out.Tasks {
			switch roll := rand.IntN(100); {
			case roll < 5:
				var lost struct{ Lost []any }
				l.request(ctx, "/fail", `{"tasks":[`+strings.TrimSuffix(task.lease(), "}")+`,"error":"why","retry_after_ms":10}]}`, http.StatusOK, &lost)
			case roll < 10:
			case roll < 12:
				time.Sleep(1100 * time.Millisecond)
				l.complete(ctx, task)
			default:
				l.complete(ctx, task)
			}
		}
	}
}

// complete repeats the request until there is an answer. If a completion succeeded but its
// answer was lost, the repeated request gets the same answer.
func (l *taskLoad) complete(ctx context.Context, task claimedTask) {
	var out struct{ Lost []any }
	if l.request(ctx, "/complete", `{"leases":[`+task.lease()+`]}`, http.StatusOK, &out) && len(out.Lost) == 0 {
		l.mu.Lock()
		l.completed[task.Key]++
		l.mu.Unlock()
	}
}

// Nodes and their database are killed many times under load. In the end each accepted task is
// done, and it was completed once.
func TestTasksSurviveKilledNodesAndDatabase(t *testing.T) {
	t.Parallel()
	const rounds = 6
	database := testenv.Postgres(t)
	db := testenv.SQL{URL: database.URL, Dir: t.TempDir()}
	cluster := testCluster{config: configFile(t, "games: {demo: }\n"), redis: testenv.Redis(t).URL, db: db}
	nodes := []*nodeProcess{cluster.process(t), cluster.process(t)}
	load := &taskLoad{
		t: t, token: newTasksClients(t, nodes[0].url, db, cluster.config, "demo")[0].token, urls: []string{nodes[0].url, nodes[1].url},
		enqueued: map[string]string{}, completed: map[string]int{},
	}
	producing, stopProducers := context.WithCancel(t.Context())
	working, stopWorkers := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stopWorkers()
	var producers, workers sync.WaitGroup
	for i := range 3 {
		producers.Go(func() { load.produce(producing, fmt.Sprint("p", i)) })
		workers.Go(func() { load.work(working) })
	}
	for round := range rounds {
		time.Sleep(time.Duration(300+rand.IntN(700)) * time.Millisecond)
		if round%3 == 2 {
			database.Kill()
			database.Restart()
			continue
		}
		nodes[round%2].signal(syscall.SIGKILL)
		nodes[round%2].wait(t)
		nodes[round%2] = cluster.process(t)
		load.mu.Lock()
		load.urls[round%2] = nodes[round%2].url
		load.mu.Unlock()
	}
	stopProducers()
	producers.Wait()
	states := load.waitUntilDone(working)
	stopWorkers()
	workers.Wait()
	load.checkCompletions(states)
}

// waitUntilDone waits until all accepted tasks are done, and returns the states by key.
func (l *taskLoad) waitUntilDone(ctx context.Context) map[string]string {
	states := map[string]string{}
	for ctx.Err() == nil && len(states) < len(l.enqueued) {
		for key, id := range l.enqueued {
			if states[key] != "" {
				continue
			}
			var task struct{ State string }
			client := tasksClient{l.t, l.urls[0] + "/v1/games/demo/tasks", l.token}
			if client.call(http.MethodGet, "/"+id, "", &task); task.State == "done" {
				states[key] = task.State
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return states
}

func (l *taskLoad) checkCompletions(states map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.enqueued) < 100 {
		l.t.Errorf("only %d tasks were accepted", len(l.enqueued))
	}
	for key := range l.enqueued {
		if states[key] != "done" {
			l.t.Errorf("%s was accepted and is not done", key)
		}
	}
	for key, times := range l.completed {
		if times > 1 {
			l.t.Errorf("%s was completed %d times", key, times)
		}
	}
}
