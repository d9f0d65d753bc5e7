package ops

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// singularSegments are path segments that are not plural, because a parent has only one of them.
var singularSegments = []string{"queue", "device", "account", "payload", "confirmation", "audit-log"}

// actions are the verbs that end a path: POST starts the action, GET reads its result.
var actions = []string{"requeue", "discard", "verify", "rebuild", "pause", "resume", "drain", "rotate", "ping", "enable", "disable"}

// retiredWords occur in no path and no parameter.
var retiredWords = regexp.MustCompile(`\b(acts?|bars?|lines?|bound|boards?|peek|hooks?|by|why)\b`)

// routeNameErrors lists what is wrong with the names of a route.
func routeNameErrors(r Operation) (faults []string) {
	rest, ok := strings.CutPrefix(r.Path, "/admin/v1/")
	if !ok {
		return []string{r.Path + " is not below /admin/v1/"}
	}
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case strings.HasPrefix(s, "{"), strings.HasSuffix(s, "s"), slices.Contains(singularSegments, s), last && slices.Contains(actions, s):
		default:
			faults = append(faults, r.Path+": "+s+" is no plural noun")
		}
	}
	if word := retiredWords.FindString(strings.Join(append(r.Query, rest), " ")); word != "" {
		faults = append(faults, r.Path+": retired word "+word)
	}
	return faults
}

func TestRoutesArePluralNouns(t *testing.T) {
	t.Parallel()
	routes := newAPI(newFakeBackend().config()).routes()
	if len(routes) < 40 {
		t.Fatalf("there are %d routes", len(routes))
	}
	for _, rt := range routes {
		for _, fault := range routeNameErrors(rt) {
			t.Error(fault)
		}
	}
}

// The check of route names finds each kind of bad name.
func TestTheRouteNameCheckFindsBadNames(t *testing.T) {
	t.Parallel()
	for want, rt := range map[string]Operation{
		"is no plural noun":      {Path: "/admin/v1/games/{game}/pausing"},
		"is not below":           {Path: "/v1/games"},
		"retired word acts":      {Path: "/admin/v1/acts"},
		"retired word by":        {Path: "/admin/v1/audit-log", Query: []string{"by"}},
		"pause is no plural":     {Path: "/admin/v1/games/pause/{game}"},
		"retired word bars":      {Path: "/admin/v1/games/{game}/bars/{kind}/{id}"},
		"retired word lines":     {Path: "/admin/v1/lines"},
		"bound is no plural":     {Path: "/admin/v1/games/{game}/queue/bound"},
		"audit is no plural":     {Path: "/admin/v1/audit"},
		"retired word boards":    {Path: "/admin/v1/games/{game}/boards/verify"},
		"peek is no plural noun": {Path: "/admin/v1/games/{game}/queue/peek"},
	} {
		if found := strings.Join(routeNameErrors(rt), "\n"); !strings.Contains(found, want) {
			t.Errorf("%s: found only %q, want %q", rt.Path, found, want)
		}
	}
}
