package main

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/eventq"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// Players of two nodes connect, play a match and disconnect. A game reports the configured
// kinds.
func TestBehavioursOfPlayersAreReported(t *testing.T) {
	t.Parallel()
	r := newReportingTest(t, redisWithDocumentedKeys(t), map[string]string{
		"all": fastReporting, "ends": fastReporting + ", report: [match_end]", "silent": fastReporting + ", report: []",
	})
	first, second := r.node(t), r.node(t)
	duels := map[string]duelPair{}
	for _, game := range r.games {
		duel := startDuel(t, first.url, second.url, game)
		duel.each(func(c *matchClient) {
			c.readUntilPush(t, protocol.TypeQuestion)
			q := c.asked[0]
			id, _ := c.Send(protocol.TypeAnswer, protocol.Answer{Match: c.match, Question: &q.Question, Given: player.ArbitraryAnswer(q)})
			c.questionByRequest[id] = q.Question
		})
		duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeMatchOver) })
		duels[game] = duel
	}
	waitForCount := func(game string, count int) {
		waitUntil(t, "the receiver got the expected number of behaviours of "+game, func() bool {
			items, _ := r.itemsByOutcome(game)
			return len(items) == count
		})
	}
	waitForCount("all", 6) // a player who leaves before the server sends the end has no match_end
	waitForCount("ends", 2)
	for _, duel := range duels {
		duel.each(func(c *matchClient) { _ = c.Close() })
	}
	waitForCount("all", 8)
	for game, kinds := range map[string][]string{
		"all":  {eventq.Online, eventq.MatchStart, eventq.MatchEnd, eventq.Offline},
		"ends": {eventq.MatchEnd},
	} {
		all, _ := r.itemsByOutcome(game)
		duels[game].each(func(c *matchClient) { checkSessionBehaviours(t, c, kinds, all) })
	}
	if c := r.waitUntilIdle("silent"); c.Offered != 0 || len(r.gameBatches("silent")) > 0 {
		t.Errorf("a game that reports nothing: %+v", c)
	}
}

// checkSessionBehaviours checks that a guest's session was reported with these kinds, in order, with one
// session, one device and the match.
func checkSessionBehaviours(t *testing.T, c *matchClient, kinds []string, all []eventq.Behaviour) {
	t.Helper()
	var own []eventq.Behaviour
	var ownKinds []string
	for _, behaviour := range all {
		if behaviour.Player == c.id {
			own, ownKinds = append(own, behaviour), append(ownKinds, behaviour.Type)
		}
	}
	if !slices.Equal(ownKinds, kinds) {
		t.Fatalf("%s was reported with %q, want %q", c.id, ownKinds, kinds)
	}
	for _, behaviour := range own {
		if behaviour.Session != own[0].Session || len(behaviour.Session) != 32 || behaviour.Device != own[0].Device || len(behaviour.Device) != 32 || behaviour.Account != eventq.Guest || behaviour.PI != "" || behaviour.At < own[0].At {
			t.Errorf("behaviour %+v does not fit to the first one, %+v", behaviour, own[0])
		}
		var data struct{ Match string }
		if behaviour.Type != eventq.Online && behaviour.Type != eventq.Offline && (json.Unmarshal(behaviour.Data, &data) != nil || data.Match != c.match) {
			t.Errorf("%s: %s; the match is %s", behaviour.Type, behaviour.Data, c.match)
		}
	}
}

// A guest and a verified player connect and disconnect, and the interface of the
// NPPA, China's press and publication authority, accepts both reports.
func TestOnlineAndOfflineAreReportedToTheNPPA(t *testing.T) {
	t.Parallel()
	var receiver nppaReceiver
	server := httptest.NewServer(&receiver)
	defer server.Close()
	path := configFile(t, "games: {demo: {behaviours: {batch: {flush_interval: 50ms}, sink: {type: nppa, app_id: app, biz_id: biz, secret_file: nppa.key, allow_private: true, url: '"+
		server.URL+"'}}}}")
	testenv.WriteBeside(t, path, "nppa.key", testenv.NPPAKey)
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: path})
	token := node.run(t, 0, "token", "--game=demo", "--role=player", "--sub=p_42", "--pi="+testPI)
	guest := newPlayer(t, node.url)
	verified := connect(t, node.url, player.Guest{Token: strings.TrimSpace(token)})
	for _, p := range []*player.Player{guest, verified} {
		_ = p.Close()
	}
	waitUntil(t, "both have come and gone", func() bool { return len(receiver.received()) >= 4 })
	bySession := map[string][]nppaRecord{}
	for _, record := range receiver.received() {
		bySession[record.SI] = append(bySession[record.SI], record)
	}
	kinds := map[int]int{}
	for session, sessionRecords := range bySession {
		if len(sessionRecords) != 2 || sessionRecords[0].BT != 1 || sessionRecords[1].BT != 0 || sessionRecords[0].CT != sessionRecords[1].CT || sessionRecords[0].OT > sessionRecords[1].OT {
			t.Fatalf("%s: %+v", session, sessionRecords)
		}
		kinds[sessionRecords[0].CT]++
		for _, record := range sessionRecords {
			if record.CT == 0 && (record.PI != testPI || record.DI != "") || record.CT == 2 && (record.PI != "" || record.DI == "") {
				t.Errorf("%+v", record)
			}
		}
	}
	if kinds[0] != 1 || kinds[2] != 1 || len(receiver.received()) != 4 || receiver.refused.Load() > 0 {
		t.Errorf("%+v, %d requests were refused", receiver.received(), receiver.refused.Load())
	}
}

// nppaRecord is a record with the field names of the NPPA's interface.
type nppaRecord struct {
	SI, DI, PI string
	BT, CT     int
	OT         int64
}

// nppaReceiver collects what the key of the test opens. It refuses requests of another
// company or game. The tests of package nppa check the requests thoroughly.
type nppaReceiver struct {
	refused atomic.Int64

	mu      sync.Mutex
	records []nppaRecord
}

func (n *nppaReceiver) received() []nppaRecord {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.records)
}

func (n *nppaReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	records, err := openNPPAReport(r)
	if err != nil || r.Header.Get("appId") != "app" || r.Header.Get("bizId") != "biz" {
		n.refused.Add(1)
		http.Error(w, "refused", http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records = append(n.records, records...)
	_, _ = w.Write([]byte(`{"errcode":0,"errmsg":"ok","data":""}`))
}

// openNPPAReport decrypts the body {"data": Base64 of nonce, ciphertext and tag}.
func openNPPAReport(r *http.Request) ([]nppaRecord, error) {
	var body struct{ Data []byte }
	var report struct{ Collections []nppaRecord }
	secret, keyErr := hex.DecodeString(testenv.NPPAKey)
	block, err := aes.NewCipher(secret)
	if err = errors.Join(keyErr, err, json.NewDecoder(r.Body).Decode(&body)); err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil || len(body.Data) < aead.NonceSize() {
		return nil, errors.Join(err, errors.New("a body without a nonce"))
	}
	plain, err := aead.Open(nil, body.Data[:aead.NonceSize()], body.Data[aead.NonceSize():], nil)
	if err == nil {
		err = json.Unmarshal(plain, &report)
	}
	return report.Collections, err
}
