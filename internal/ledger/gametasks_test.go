package ledger

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// The claims of some topics cannot renew, complete or fail the tasks of others, nor learn
// that these are done.
func TestClaimsOfTopicsReachNoOtherTasks(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a/mail", "mine"), newTask("a/mail", "second"), newTask("ab/mail", "theirs"), newTask("a", "short"))
		tasks, foreign := map[string]taskqueue.Task{}, []taskqueue.Task{}
		for _, task := range q.claim(10) {
			if tasks[task.Key] = task; task.Topic != kind+"/a/mail" {
				foreign = append(foreign, task)
			}
		}
		claims := q.Claims.OfTopics(kind + "/a/")
		calls := map[string]func(...taskqueue.Task) ([]taskqueue.Lease, error){
			"renew": func(tasks ...taskqueue.Task) ([]taskqueue.Lease, error) {
				return claims.Renew(t.Context(), taskLeases(tasks), time.Minute)
			},
			"complete": func(tasks ...taskqueue.Task) ([]taskqueue.Lease, error) {
				return claims.Complete(t.Context(), taskLeases(tasks))
			},
			"fail": func(tasks ...taskqueue.Task) ([]taskqueue.Lease, error) {
				return claims.Fail(t.Context(), failures(taskLeases(tasks), 0, true))
			},
		}
		for name, call := range calls {
			if lost := testenv.Need(call(foreign...))(t); !slices.Equal(lost, taskLeases(foreign)) || len(foreign) != 2 {
				t.Errorf("%s of %v: %v are lost", name, taskKeys(foreign), lost)
			}
		}
		for _, task := range foreign {
			if after := testenv.Need(q.Tasks.Task(t.Context(), task.ID))(t); !reflect.DeepEqual(after, task) {
				t.Errorf("a task of others changed from %+v to %+v", task, after)
			}
		}
		testenv.Need(q.Claims.Complete(t.Context(), taskLeases(foreign)))(t)
		if lost := testenv.Need(calls["complete"](foreign...))(t); !slices.Equal(lost, taskLeases(foreign)) {
			t.Errorf("completed tasks of others: %v are lost", lost)
		}
		for name, task := range map[string]taskqueue.Task{"renew": tasks["mine"], "complete": tasks["mine"], "fail": tasks["second"]} {
			if lost := testenv.Need(calls[name](task))(t); len(lost) > 0 && name != "renew" {
				t.Errorf("%s: the own lease of %s is lost", name, task.Key)
			}
		}
	})
}

// If a call reports two failures of one lease, the first counts.
func TestTheFirstReportOfALeaseCounts(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "1"))
		task := q.claimOne("1")
		reports := append(failures(taskLeases([]taskqueue.Task{task}), 0, true), failures(taskLeases([]taskqueue.Task{task}), time.Second, false)...)
		if !q.hasLease(q.Claims.Fail(t.Context(), reports)) {
			t.Error("the lease is lost")
		}
		if after := q.wantState(task.ID, taskqueue.StateDead); after.Tries != 1 {
			t.Errorf("%d tries", after.Tries)
		}
	})
}

// Any text may be requested. A text that cannot be an id matches no task.
func TestATextThatIsNoIDMatchesNoTask(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		for _, id := range []string{"", "\x00", "\xff", "a b"} {
			if _, err := q.Tasks.Task(t.Context(), id); !errors.Is(err, taskqueue.ErrNotFound) {
				t.Errorf("task %q: %v", id, err)
			}
			leases := []taskqueue.Lease{{ID: id, Fence: 1}}
			if lost, err := q.Claims.Complete(t.Context(), leases); err != nil || !slices.Equal(lost, leases) {
				t.Errorf("the lease of %q: %v lost, %v", id, lost, err)
			}
		}
	})
}

var _ taskqueue.TenantStore = (*TaskStore)(nil)
