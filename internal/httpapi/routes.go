package httpapi

// routes lists all operations except the websocket, which newMux adds.
func (a *api) routes() []route {
	players, arenas, boards, services := playerRoutes{a.gate}, arenaRoutes{a.gate}, boardRoutes{a.gate}, serviceRoutes{a.gate}
	status := &statusRoutes{Config: a.Config}
	page := []string{"limit", "cursor"}
	board := []string{"order", "kind", "limit", "cursor", "around", "players", "date"}
	standing := []string{"order", "kind", "explain"}
	return []route{
		{"POST", gamePath + "/guests", players.postGuest, nil},
		{"GET", gamePath + "/nicknames/{name}", players.getNickname, nil},
		{"PUT", gamePath + "/players/me/nickname", players.putNickname, nil},
		{"DELETE", callingPlayerPath, players.deleteMe, nil},
		{"PUT", gamePath + "/players/me/account", players.putAccount, nil},
		{"PUT", gamePath + "/players/me/device", players.putDevice, nil},
		{"GET", gamePath + "/players/{player}", players.getPlayer, nil},
		{"GET", gamePath + "/players/{player}/matches", players.getHistory, page},
		{"GET", gamePath + "/matches/{match}", boards.getMatch, page},
		{"POST", gamePath + "/arenas", arenas.postArena, nil},
		{"GET", gamePath + "/arenas/{code}", arenas.getArena, nil},
		{"POST", behavioursPath, services.postBehaviours, nil},
		{"POST", tasksPath, services.postTasks, nil},
		{"POST", claimPath, services.postClaim, nil},
		{"POST", gamePath + "/tasks/renew", services.postRenew, nil},
		{"POST", gamePath + "/tasks/complete", services.postComplete, nil},
		{"POST", gamePath + "/tasks/fail", services.postFail, nil},
		{"GET", gamePath + "/tasks/{task}", services.getTask, nil},
		{"GET", gamePath + "/leaderboards", boards.getBoards, nil},
		{"GET", gamePath + "/leaderboards/{window}", boards.getBoard, board},
		{"GET", gamePath + "/leaderboards/{window}/{player}", boards.getStanding, standing},
		{"GET", "/healthz", status.getHealth, nil},
		{"GET", "/readyz", status.getReadiness, nil},
		{"GET", "/openapi.yaml", status.getOpenAPI, nil},
		{"GET", "/asyncapi.yaml", status.getAsyncAPI, nil},
	}
}
