package httpapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"laststand/internal/answers"
	"laststand/internal/arena"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

const (
	maxReportPlayers = 500 // per page

	// Answers reach the ledger about a second after the result. A request waits that long,
	// so that the report is there once `settled` was pushed.
	answersWait = 2500 * time.Millisecond
	answersPoll = 250 * time.Millisecond
)

// reportFile is a form of a report with all players.
type reportFile struct {
	contentType string
	write       func(ctx context.Context, w io.Writer, source answers.ReportSource, m answers.Match) error
}

// reportFiles are the values of the query parameter format besides json.
var reportFiles = map[string]reportFile{
	"csv":  {"text/csv; charset=utf-8", answers.WriteCSV},
	"xlsx": {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", answers.WriteXLSX},
}

// getReport returns the report of an arena: as JSON with a page of its players, or as a file
// with all of them.
func (h arenaRoutes) getReport(r *request) (response any, err error) {
	record, err := h.findArenaRecord(r)
	if err != nil {
		return nil, err
	}
	page, err := readPaging(r.query, maxReportPlayers)
	if err != nil {
		return nil, err
	}
	format := cmp.Or(r.query.Get("format"), "json")
	file, isFile := reportFiles[format]
	if !isFile && format != "json" {
		return nil, badRequest("format %.20q is unknown; use json, csv or xlsx", format)
	}
	m, err := h.settledMatch(r, record)
	if err != nil {
		return nil, err
	}
	err = h.reportSlots.run(r.Context(), r.game, func() (err error) {
		if isFile {
			response, err = h.newReportFile(r.Context(), file, fileName(record.Name, format), m)
		} else {
			response, err = h.newReportPage(r.Context(), page, record, m)
		}
		return err
	})
	return response, err
}

func (h arenaRoutes) newReportPage(ctx context.Context, page paging, record arena.Record, m answers.Match) (any, error) {
	from, to, next, err := page.indexRange(m.Summary.Players)
	if err != nil {
		return nil, err
	}
	questions, err := h.summaries.Questions(ctx, h.Answers, m)
	if err != nil {
		return nil, err
	}
	view := answers.NewReport(record, m, questions)
	view.NextCursor = next
	return view, view.AddPlayers(ctx, h.Answers, m, from, to)
}

// newReportFile writes a report into a temporary file. So its size is known, an error is
// still a problem, and a slow client needs no memory.
func (h arenaRoutes) newReportFile(ctx context.Context, form reportFile, name string, m answers.Match) (any, error) {
	file, err := os.CreateTemp("", "laststand-report-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // it stays readable; systems without that keep the file
	if err := form.write(ctx, file, h.Answers, m); err != nil {
		file.Close()
		return nil, err
	}
	return httpserver.File{ContentType: form.contentType, Name: name, Content: file}, nil
}

// fileName returns a name for a report that every system accepts. It contains the letters and
// digits of the name of the arena.
func fileName(arenaName, format string) string {
	words := strings.FieldsFunc(arenaName, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	return strings.Join(append([]string{"report"}, words...), "-") + "." + format
}

// findArenaRecord returns the arena in the path to its host, and to services of the game.
func (h arenaRoutes) findArenaRecord(r *request) (arena.Record, error) {
	record, err := h.Arenas.FindRecord(r.Context(), r.game, r.PathValue("arena_id"))
	if err == nil && r.claims.Role != identity.RoleService && r.claims.Subject != record.Host {
		err = protocol.Errorf(protocol.CodeForbidden, "only the host of the arena and services can read its report, or make its questions void")
	}
	return record, err
}

// settledMatch returns the match of an arena with its questions.
func (h arenaRoutes) settledMatch(r *request, record arena.Record) (answers.Match, error) {
	var m answers.Match
	err := awaitAnswers(r, func() (err error) {
		m, err = h.Answers.Match(r.Context(), r.game, record.Match)
		return err
	})
	if !errors.Is(err, match.ErrNotFound) {
		return m, err
	}
	if err := h.Arenas.CheckOver(r.Context(), record); err != nil {
		return answers.Match{}, err
	}
	return answers.Match{}, protocol.Errorf(protocol.CodeNotFound, "the arena has no report: it ended before its first question, or it has been deleted")
}

// awaitAnswers calls read, and for some time again while it returns answers.ErrOnTheWay.
func awaitAnswers(r *request, read func() error) error {
	deadline := time.Now().Add(answersWait)
	for {
		err := read()
		if !errors.Is(err, answers.ErrOnTheWay) || time.Now().After(deadline) || !timer.Sleep(r.Context(), answersPoll) {
			return err
		}
	}
}

// maxReports limits the reports that a node computes at the same time. A large one takes
// seconds of a core. A game has one at a time, so it cannot delay the others for long.
const maxReports = 4

type reportSlots struct {
	node  chan struct{}            // full while the node computes maxReports
	games map[string]chan struct{} // full while the node computes a report of the game
}

func newReportSlots(games []string) reportSlots {
	slots := reportSlots{make(chan struct{}, maxReports), map[string]chan struct{}{}}
	for _, game := range games {
		slots.games[game] = make(chan struct{}, 1)
	}
	return slots
}

// run calls compute when the game and the node have a slot, and returns its error. It refuses
// after reportTimeout. The caller must write the response later, because that waits for the
// client.
func (s reportSlots) run(ctx context.Context, game string, compute func() error) error {
	waiting, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	for _, slot := range []chan struct{}{s.games[game], s.node} {
		select {
		case slot <- struct{}{}:
			defer func() { <-slot }()
		case <-waiting.Done():
			return protocol.RetryAfter(protocol.CodeOverloaded, 5000, "the node computes many reports; retry in 5 s")
		}
	}
	return compute()
}
