package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"laststand/internal/answers"
	"laststand/internal/httpserver"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// reportReader reads a report with several tokens.
type reportReader struct {
	*testing.T

	url string
}

func (r reportReader) get(token, query string) response {
	r.Helper()
	return send(r.T, http.MethodGet, r.url+query, token, nil)
}

// A race of two teams is played over websockets. Before its end there is no report. After the
// push `settled`, only the host and services read the report. It has what was pushed during the
// match. The arena is in the list of its host from the lobby on.
func TestAHostReadsTheReportOfAnArena(t *testing.T) {
	runOnEachDeployment(t, func(t *testing.T, urls []string, token func(role, sub string) string) {
		hostToken, service := token("host", "quizmaster"), token("service", "back-office")
		created := createArena(t, urls[0], hostToken, protocol.NewArena{
			Mode: "race", Name: "=Friday", Pace: "auto", Ranked: true, TimeLimitMS: new(int64(5000)), Questions: protocol.ArenaQuestions{Count: 4},
			Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
		})
		r := reportReader{t, urls[len(urls)-1] + "/v1/games/demo/arenas/" + created.ArenaID + "/report"}
		host := joinArena(t, urls[0], player.Guest{ID: "quizmaster", Token: hostToken}, protocol.ArenaJoin{Code: created.Code, As: "host"})
		key := newAnswerKey(t)
		clients := []*matchClient{host}
		for i, guest := range newGuests(t, urls, 5) {
			c := joinArena(t, urls[i%len(urls)], guest, protocol.ArenaJoin{Code: created.Code})
			c.key, c.waitForSettled = key, true
			c.plan = func(q int) (right, silent bool) { return (i+q)%3 != 0, i == 4 && q == 1 }
			clients = append(clients, c)
		}
		r.checkRefused(map[string]int{hostToken: 409, service: 409, clients[1].Token: 403, "": 401})
		r.checkHosted(hostToken, urls[0], protocol.HostedArena{ArenaID: created.ArenaID, Name: "=Friday", Mode: "race", State: "lobby", Players: 5})
		host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: created.ArenaID})
		r.checkRefused(map[string]int{hostToken: 409})
		playAll(t, clients)
		r.checkRefused(map[string]int{clients[1].Token: 403, token("host", "other"): 403, token("player", "p_other"): 403, "": 401})
		r.checkHosted(hostToken, urls[0], protocol.HostedArena{ArenaID: created.ArenaID, Name: "=Friday", Mode: "race", State: "over", Players: 5, Match: clients[1].match})
		r.checkHosted(token("host", "other"), urls[0])
		for _, reader := range []string{hostToken, service} {
			r.checkReport(reader, clients)
		}
		r.checkFiles(hostToken)
	})
}

func (r reportReader) checkRefused(want map[string]int) {
	r.Helper()
	for token, status := range want {
		for _, format := range []string{"json", "csv", "xlsx"} {
			var p httpserver.Problem
			if got := r.get(token, "?format="+format).decode(r.T, &p); got != status || (p.Code == protocol.CodeNotOver) != (status == 409) {
				r.Errorf("%s: %d %+v, want %d", format, got, p, status)
			}
		}
	}
}

func (r reportReader) checkHosted(token, url string, want ...protocol.HostedArena) {
	r.Helper()
	var list struct{ Arenas []protocol.HostedArena }
	status := (reportReader{r.T, url + "/v1/games/demo/players/me/arenas"}).get(token, "").decode(r.T, &list)
	for i := range list.Arenas {
		if list.Arenas[i].CreatedAt == 0 {
			r.Error("an arena has no time")
		}
		list.Arenas[i].CreatedAt = 0
	}
	if status != 200 || len(list.Arenas) != len(want) || len(want) > 0 && !reflect.DeepEqual(list.Arenas, want) {
		r.Errorf("%d %+v, want %+v", status, list.Arenas, want)
	}
}

// checkReport reads all pages of a report and compares them with what was pushed.
func (r reportReader) checkReport(token string, clients []*matchClient) {
	r.Helper()
	var all answers.Report
	for cursor := ""; ; {
		var page answers.Report
		if status := r.get(token, "?limit=2"+cursor).decode(r.T, &page); status != http.StatusOK || len(page.Players) > 2 {
			r.Fatalf("%d %+v", status, page)
		}
		page.Players, all.Players = nil, append(all.Players, page.Players...)
		all.Questions, all.Match, all.Name = page.Questions, page.Match, page.Name
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	over := clients[1].over
	if all.Match != clients[1].match || all.Name != "=Friday" || len(all.Questions) != len(clients[1].closed) || len(all.Players) != len(over.Standings) {
		r.Fatalf("%+v", all)
	}
	for i, q := range all.Questions {
		closed := clients[1].closed[i]
		if q.Text != clients[1].asked[i].Text || q.Answered != closed.Answered || q.Right != closed.Right || fmt.Sprint(q.Counts) != fmt.Sprint(closed.Counts) {
			r.Errorf("question %d: %+v, pushed %+v", i, q, closed)
		}
		for place, p := range all.Players {
			s, a := over.Standings[place], p.Answers[i]
			if p.Player != s.Player || p.Nickname != s.Nickname || p.Team != s.Team || p.Rank != s.Rank || p.Score != s.Score || p.Correct != s.Correct || p.TimeMS != s.TimeMS {
				r.Errorf("player %+v, pushed %+v", p, s)
			}
			for _, pushed := range closed.Results {
				if pushed.Player == p.Player && (!isSameGiven(r.T, a.Given, pushed.Given) || a.Correct != pushed.Correct || !reflect.DeepEqual(a.ElapsedMS, pushed.ElapsedMS) || a.Points != pushed.Points) {
					r.Errorf("question %d: answer %+v of %s, pushed %+v", i, a, p.Player, pushed)
				}
			}
		}
	}
}

// isSameGiven compares two given answers.
func isSameGiven(t *testing.T, stored *protocol.Given, pushed json.RawMessage) bool {
	t.Helper()
	var given *protocol.Given
	if len(pushed) > 0 {
		testenv.NoError(t, json.Unmarshal(pushed, &given))
	}
	return reflect.DeepEqual(given, stored)
}

// checkFiles checks that both files have a row for each player and question.
func (r reportReader) checkFiles(token string) {
	r.Helper()
	file := r.get(token, "?format=csv")
	rows, err := csv.NewReader(bytes.NewReader(file.body)).ReadAll()
	if err != nil || len(rows) != 1+5*4 || file.header.Get("Content-Disposition") != "attachment; filename=report-Friday.csv" {
		r.Errorf("%d rows, %v, %v", len(rows), file.header, err)
	}
	workbook := testenv.Need(excelize.OpenReader(bytes.NewReader(r.get(token, "?format=xlsx").body)))(r.T)
	defer workbook.Close()
	sheetRows, err := workbook.GetRows(workbook.GetSheetName(0))
	if err != nil || len(sheetRows) != len(rows) || strings.Join(sheetRows[0], ",") != strings.Join(rows[0], ",") {
		r.Errorf("%d rows, the first %q, %v", len(sheetRows), sheetRows[0], err)
	}
}
