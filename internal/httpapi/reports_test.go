package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/answers"
	"laststand/internal/protocol"
)

const reportPath = demoPath + "/arenas/a_1/report"

// The host and services read the same report. Answers that do not count are not in it.
func TestReportsHaveQuestionsAndPlayers(t *testing.T) {
	t.Parallel()
	const want = `{"arena_id":"a_1","match":"m_1","name":"Cup","mode":"race","started_at":1795212345678,"over_at":1795212405678,"questions":[` +
		`{"question":0,"id":"","kind":"single","text":"Capital?","choices":["Rome","Oslo"],"answer":{"choice":1},"answered":2,"right":1,"facility":0.5,"mean_ms":1118,"counts":[1,1]},` +
		`{"question":1,"id":"","kind":"number","text":"When?","answer":{"value":1969,"tolerance":0},"answered":0,"right":0,"facility":0,"mean_ms":0},` +
		`{"question":2,"id":"","kind":"single","text":"Capital?","choices":["Rome","Oslo"],"answer":{"choice":1},"answered":0,"right":0,"facility":0,"mean_ms":0,"counts":[0,0]}],` +
		`"players":[{"player":"p_1","nickname":"Nick p_1","team":"north","rank":1,"score":1642,"correct":9,"time_ms":43210,"answers":[` +
		`{"question":0,"given":{"choice":1},"correct":true,"elapsed_ms":1234,"points":187},` +
		`{"question":1,"given":null,"correct":false,"elapsed_ms":null,"points":0},{"question":2,"given":null,"correct":false,"elapsed_ms":null,"points":0}]}`
	for _, token := range []string{"good", "host", "service"} {
		rec := serve(t, New(newTestConfig(&fakeBackend{})), getCall(reportPath, "Authorization: Bearer "+token))
		if rec.Code != 200 || !strings.HasPrefix(rec.Body.String(), want) {
			t.Errorf("%s: %d %s", token, rec.Code, rec.Body)
		}
	}
}

func TestPlayersOfAReportArePaged(t *testing.T) {
	t.Parallel()
	handler, cursor, players := New(newTestConfig(&fakeBackend{})), "", []string{}
	for range 3 {
		rec := serve(t, handler, getCall(reportPath+"?limit=2"+cursor, bearerGood))
		var page answers.Report
		if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil || len(page.Questions) != 3 {
			t.Fatalf("%s: %v", rec.Body, err)
		}
		for _, p := range page.Players {
			players = append(players, p.Player)
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	if got := strings.Join(players, " "); got != "p_1 p_2 p_3" {
		t.Errorf("the pages have %s", got)
	}
}

// A request waits for answers that are on their way, but not for long.
func TestReadersOfAnswersWaitForThem(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/arenas/a_new/report", "/matches/m_new/answers"} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			rec := serve(t, New(newTestConfig(&fakeBackend{})), getCall(demoPath+path, bearerGood))
			if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != 503 || p.Code != protocol.CodeUnavailable || rec.Header().Get("Retry-After") == "" {
				t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
			}
			if waited := time.Since(began); waited < answersWait || waited > requestTimeout {
				t.Errorf("%s: waited %v", path, waited)
			}
		})
	}
}

// Files have all players, a safe name and a length.
func TestReportsAreFiles(t *testing.T) {
	t.Parallel()
	handler := New(newTestConfig(&fakeBackend{}))
	for format, contentType := range map[string]string{"csv": "text/csv; charset=utf-8", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"} {
		rec := serve(t, handler, getCall(reportPath+"?limit=1&format="+format, bearerGood))
		header := rec.Header()
		if rec.Code != 200 || header.Get("Content-Type") != contentType || header.Get("Content-Disposition") != "attachment; filename=report-Cup."+format ||
			header.Get("Content-Length") != strconv.Itoa(rec.Body.Len()) || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", format, rec.Code, header)
		}
		if format == "csv" && strings.Count(rec.Body.String(), "\r\n") != 1+3*3 {
			t.Errorf("%s", rec.Body)
		}
	}
}

func TestNamesOfReportFilesAreSafe(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "report.csv", "../a\"b\r\nX: y": "report-a-b-X-y.csv", "Quiz № 1 – 大赛": "report-Quiz-1-大赛.csv", "CON.xlsx": "report-CON-xlsx.csv"} {
		if got := fileName(name, "csv"); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Others are refused at once, whether the match is settled, on its way or deleted.
func TestOthersLearnNothingFromTheirRefusals(t *testing.T) {
	t.Parallel()
	paths := []string{"/matches/m_unsettled/answers", "/matches/m_new/answers", "/matches/m_old/answers", "/matches/m_1/answers"}
	for _, id := range []string{"a_new", "a_old", "a_open", "a_closed", "a_1"} {
		paths = append(paths, "/arenas/"+id+"/report")
	}
	for _, path := range paths {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			rec := serve(t, New(newTestConfig(&fakeBackend{})), getCall(demoPath+path, "Authorization: Bearer stranger"))
			if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != 403 || p.Code != protocol.CodeForbidden || time.Since(began) != 0 {
				t.Errorf("%s: after %v %d %s", path, time.Since(began), rec.Code, rec.Body)
			}
		})
	}
}

// A game has one report at a time, and a node a few. Others wait, and are refused at last. A
// game does not hold up others.
func TestReportsWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		games := []string{"demo"}
		for i := range maxReports {
			games = append(games, fmt.Sprint("game", i))
		}
		slots, release := newReportSlots(games), make(chan struct{})
		holdSlot := func(game string) {
			go func() { _ = slots.run(t.Context(), game, func() error { <-release; return nil }) }()
			synctest.Wait()
		}
		checkRefused := func(game string) {
			t.Helper()
			began := time.Now()
			err := slots.run(t.Context(), game, func() error { t.Error("one report too many"); return nil })
			if refusal, ok := errors.AsType[*protocol.Error](err); !ok || refusal.Code != protocol.CodeOverloaded || refusal.RetryAfterMS == 0 || time.Since(began) != reportTimeout {
				t.Errorf("%s, after %v: %v", game, time.Since(began), err)
			}
		}
		holdSlot("demo")
		checkRefused("demo")
		errDone := errors.New("done")
		if err := slots.run(t.Context(), "game0", func() error { return errDone }); !errors.Is(err, errDone) {
			t.Errorf("a report of another game: %v", err)
		}
		for _, game := range games[1:maxReports] {
			holdSlot(game)
		}
		checkRefused(games[maxReports])
		close(release)
		synctest.Wait()
		if err := slots.run(t.Context(), "demo", func() error { return errDone }); !errors.Is(err, errDone) {
			t.Errorf("a report after the others: %v", err)
		}
	})
}
