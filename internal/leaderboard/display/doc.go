// Package display encodes leaderboards for clients, over HTTP and the websocket.
//
// Words of this package:
//
//   - answer: the encoded JSON of a page, a standing or a listing, with nicknames.
//   - feed: one board that sessions of this node watch. It is read once a second for all
//     its watchers.
//   - watcher: a session that gets pushes of a feed.
//   - frame: the encoded bytes of a push.
//
// The main type is [Display]. Concurrent callers share reads and encoded bytes: see
// pagecache.go for queries and feed.go for pushes. Start reading with display.go.
//
// The package must not know how boards are stored, nor sessions and HTTP requests.
package display
