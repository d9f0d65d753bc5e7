package identity_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/httpapi"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/nickname"
	"laststand/internal/overload"
	"laststand/internal/redisstore"
	"laststand/internal/testenv"
)

// spellings are names with the same skeleton.
var spellings = []string{"Max Ada", "MAX ADA", "max ada", "Мах Аdа", "ＭＡＸ　ＡＤＡ", "Μax  Αda", "rnax ada", " maХ ΑԁΑ "}

// httpNode is a node with the HTTP handler that serves its names.
type httpNode struct {
	http.Handler
	*identity.Registry
	ledger  *ledger.Ledger
	metrics *prometheus.Registry
}

func newHTTPNode(t *testing.T, db testenv.SQL, cache *testenv.Server) httpNode {
	t.Helper()
	node := httpNode{ledger: openLedger(t, db), metrics: prometheus.NewRegistry()}
	node.Registry = openNode(t, node.ledger, identity.Config{Registry: node.metrics})
	node.Reservations = redisstore.NewNames(testenv.OpenRedis(t, cache.URL).Client)
	node.Handler = httpapi.New(httpapi.Config{
		Games: []string{demo}, Tokens: node.Registry, Guests: node.Registry, Boards: noBoards{}, IsStoreDown: ledger.IsUnavailable,
		Logger: slog.New(slog.DiscardHandler), Registry: node.metrics, LoadShedder: overload.NewShedder(overload.ShedderConfig{}),
		Websocket: http.NotFoundHandler(), Page: http.NotFoundHandler(), ClientAddress: new(httpserver.TrustedProxies).ClientAddress,
		IsOriginAllowed: func(*http.Request) bool { return false }, IsDraining: func() bool { return false },
	})
	return node
}

type noBoards struct{ httpapi.Boards }

func (noBoards) ForgetName(string, string) {}

// response is the answer to a claim or a check of a name.
type response struct {
	status         int
	Code, Nickname string
	Available      bool
	Suggestions    []string
}

func (n httpNode) call(t *testing.T, address, method, path, token, body string) (answer response) {
	r := httptest.NewRequestWithContext(t.Context(), method, "/v1/games/demo/"+path, strings.NewReader(body))
	r.RemoteAddr = address + ":1234"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	recorder := httptest.NewRecorder()
	n.ServeHTTP(recorder, r)
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		t.Errorf("%s %s: %v: %s", method, path, err, recorder.Body)
	}
	answer.status = recorder.Code
	return answer
}

// claim claims a name: for even i as a new guest, for odd i by renaming a player of an
// operator.
func (n httpNode) claim(t *testing.T, i int, name string) response {
	address := fmt.Sprint("192.0.2.", i)
	if i%2 == 0 {
		return n.call(t, address, http.MethodPost, "guests", "", fmt.Sprintf(`{"device":"%s%d","nickname":%q}`, secret, i, name))
	}
	claims := identity.Claims{Subject: fmt.Sprint("p", i), Game: demo, Role: identity.RolePlayer, IssuedAt: now}
	token, _, err := n.Mint(claims, time.Hour)
	if err != nil {
		t.Error(err)
	}
	return n.call(t, address, http.MethodPut, "players/me/nickname", token, fmt.Sprintf(`{"nickname":%q}`, name))
}

// Of 200 requesters that claim a name in all spellings, one gets it. They use HTTP
// at three nodes with one PostgreSQL and one Redis, as new guests and by renaming.
// All others get three free suggestions, and no two get the same reserved one.
func TestOneOf200RequestersGetsAName(t *testing.T) {
	t.Parallel()
	db, cache := testenv.Database(t), testenv.Redis(t)
	nodes := []httpNode{newHTTPNode(t, db, cache), newHTTPNode(t, db, cache), newHTTPNode(t, db, cache)}
	answers := make([]response, 200)
	var claims sync.WaitGroup
	for i := range answers {
		claims.Go(func() { answers[i] = nodes[i%3].claim(t, i, spellings[i%len(spellings)]) })
	}
	claims.Wait()
	winners, suggested := 0, []string{}
	for i, answer := range answers {
		switch {
		case answer.status/100 == 2 && skeletonFor(t, answer.Nickname) == skeletonFor(t, spellings[0]):
			winners++
		case answer.status == http.StatusConflict && answer.Code == "nickname_taken" && len(answer.Suggestions) == 3:
			suggested = append(suggested, answer.Suggestions...)
		default:
			t.Errorf("claim %d: %+v", i, answer)
		}
	}
	for _, name := range suggested {
		if taken, err := nodes[0].ledger.Names.NicknameTaken(t.Context(), demo, skeletonFor(t, name)); err != nil || taken {
			t.Errorf("%q is suggested: taken %v, %v", name, taken, err)
		}
	}
	names := slices.Sorted(slices.Values(suggested))
	different, unreserved := len(slices.Compact(names)), countUnreservedSuggestions(t, nodes)
	if winners != 1 || len(suggested) != 3*199 || different < 3*(199-unreserved) {
		t.Errorf("%d requesters have the name; %d suggestions, %d different, %d could not be reserved", winners, len(suggested), different, unreserved)
	}
	for i, node := range nodes {
		for _, request := range spellings {
			if answer := node.call(t, "192.0.2.1", http.MethodGet, "nicknames/"+url.PathEscape(request), "", ""); answer.status != http.StatusOK || answer.Available {
				t.Errorf("node %d on %q: %+v", i, request, answer)
			}
		}
	}
	// A refused requester claims a suggestion at another node. If a suggestion
	// could not be reserved, another requester may have taken it.
	for i, answer := range answers[:20] {
		if answer.status != http.StatusConflict {
			continue
		}
		got := nodes[(i+1)%3].claim(t, i, answer.Suggestions[i%3])
		if got.status == http.StatusConflict && unreserved > 0 {
			unreserved--
			continue
		}
		if got.status/100 != 2 || got.Nickname != answer.Suggestions[i%3] {
			t.Errorf("requester %d claims the suggestion %q: %+v", i, answer.Suggestions[i%3], got)
		}
	}
}

func skeletonFor(t *testing.T, name string) string {
	t.Helper()
	parsed := testenv.Need(nickname.Parse(name))(t)
	return parsed.Skeleton
}

// countUnreservedSuggestions returns how often Redis on a busy machine was too slow to reserve a
// suggestion. The registry still suggests the name.
func countUnreservedSuggestions(t *testing.T, nodes []httpNode) (unreserved int) {
	t.Helper()
	for _, node := range nodes {
		families := testenv.Need(node.metrics.Gather())(t)
		for _, family := range families {
			for _, sample := range family.GetMetric() {
				if family.GetName() == "laststand_nickname_suggestion_failures_total" && sample.GetLabel()[1].GetValue() == "not_stored" {
					unreserved += int(sample.GetCounter().GetValue())
				}
			}
		}
	}
	return unreserved
}
