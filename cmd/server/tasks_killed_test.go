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
func (o *taskLoad) request(ctx context.Context, path, body string, want int, into any) bool {
	for ctx.Err() == nil {
		if o.attempt(ctx, path, body, want, into) {
			return true
		}
		time.Sleep(20 * time.Millisecond) // the node or its database is down
	}
	return false
}

func (o *taskLoad) attempt(ctx context.Context, path, body string, want int, into any) bool {
	o.mu.Lock()
	url := o.urls[rand.IntN(len(o.urls))]
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/games/demo/tasks"+path, strings.NewReader(body))
	if err != nil {
		o.t.Error(err)
		return false
	}
	r.Header.Set("Authorization", "Bearer "+o.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into) == nil && answer.StatusCode == want
}

// produce enqueues tasks until ctx ends.
func (o *taskLoad) produce(ctx context.Context, name string) {
	for n := 0; ctx.Err() == nil; n++ {
		topic, ordering := fmt.Sprint("work/", n%5), ""
		if n%5 == 0 {
			ordering = `,"ordering":"ordered"`
		}
		key := fmt.Sprintf("%s-%d", name, n)
		var out struct{ Tasks []struct{ ID string } }
		body := fmt.Sprintf(`{"tasks":[{"topic":%q,"key":%q,"max_tries":1000%s,"payload":%d}]}`, topic, key, ordering, n)
		if o.request(ctx, "", body, http.StatusAccepted, &out) {
			o.mu.Lock()
			o.enqueued[key] = out.Tasks[0].ID
			o.mu.Unlock()
		}
	}
}

// work claims tasks until ctx ends. It completes most of them, fails some, forgets
// some, and completes some after their leases have ended.
func (o *taskLoad) work(ctx context.Context) {
	for ctx.Err() == nil {
		var out struct{ Tasks []claimedTask }
		if !o.request(ctx, "/claim", `{"kind":"work","max":5,"lease_ms":1000,"wait_ms":200}`, http.StatusOK, &out) {
			return
		}
		for _, task := range out.Tasks {
			switch roll := rand.IntN(100); {
			case roll < 5:
				var lost struct{ Lost []any }
				o.request(ctx, "/fail", `{"tasks":[`+strings.TrimSuffix(task.lease(), "}")+`,"error":"why","retry_after_ms":10}]}`, http.StatusOK, &lost)
			case roll < 10:
			case roll < 12:
				time.Sleep(1100 * time.Millisecond)
				o.complete(ctx, task)
			default:
				o.complete(ctx, task)
			}
		}
	}
}

// complete repeats the request until there is an answer. If a completion succeeded but its
// answer was lost, the repeated request gets the same answer.
func (o *taskLoad) complete(ctx context.Context, task claimedTask) {
	var out struct{ Lost []any }
	if o.request(ctx, "/complete", `{"leases":[`+task.lease()+`]}`, http.StatusOK, &out) && len(out.Lost) == 0 {
		o.mu.Lock()
		o.completed[task.Key]++
		o.mu.Unlock()
	}
}

// Nodes and their database are killed many times under load. In the end each accepted task is
// done, and it was completed once.
func TestTasksSurviveKilledNodesAndDatabase(t *testing.T) {
	t.Parallel()
	const rounds = 6
	database := testenv.Postgres(t)
	db := testenv.SQL{URL: database.URL, Dir: t.TempDir()}
	h := testCluster{config: configFile(t, "games: {demo: }\n"), redis: testenv.Redis(t).URL, db: db}
	nodes := []*process{h.process(t), h.process(t)}
	o := &taskLoad{
		t: t, token: newServices(t, nodes[0].url, db, h.config, "demo")[0].token, urls: []string{nodes[0].url, nodes[1].url},
		enqueued: map[string]string{}, completed: map[string]int{},
	}
	producing, stop := context.WithCancel(t.Context())
	working, end := context.WithTimeout(t.Context(), 2*time.Minute)
	defer end()
	var producers, workers sync.WaitGroup
	for i := range 3 {
		producers.Go(func() { o.produce(producing, fmt.Sprint("p", i)) })
		workers.Go(func() { o.work(working) })
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
		nodes[round%2] = h.process(t)
		o.mu.Lock()
		o.urls[round%2] = nodes[round%2].url
		o.mu.Unlock()
	}
	stop()
	producers.Wait()
	states := o.waitUntilDone(working)
	end()
	workers.Wait()
	o.checkCompletions(states)
}

// waitUntilDone waits until all accepted tasks are done, and returns the states by key.
func (o *taskLoad) waitUntilDone(ctx context.Context) map[string]string {
	states := map[string]string{}
	for ctx.Err() == nil && len(states) < len(o.enqueued) {
		for key, id := range o.enqueued {
			if states[key] != "" {
				continue
			}
			var task struct{ State string }
			s := service{o.t, o.urls[0] + "/v1/games/demo/tasks", o.token}
			if s.call(http.MethodGet, "/"+id, "", &task); task.State == "done" {
				states[key] = task.State
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return states
}

func (o *taskLoad) checkCompletions(states map[string]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.enqueued) < 100 {
		o.t.Errorf("only %d tasks were accepted", len(o.enqueued))
	}
	for key := range o.enqueued {
		if states[key] != "done" {
			o.t.Errorf("%s was accepted and is not done", key)
		}
	}
	for key, times := range o.completed {
		if times > 1 {
			o.t.Errorf("%s was completed %d times", key, times)
		}
	}
}
