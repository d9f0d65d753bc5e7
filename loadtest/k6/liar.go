package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// lie starts a liar in front of a server. The function stop ends it with all its
// connections.
func lie(ctx context.Context, server string) (address string, stop func(), err error) {
	to, err := url.Parse(server)
	if err != nil {
		return "", nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	l := &liar{ws: "ws://" + to.Host + "/v1/ws"}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = l.answer
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("/v1/ws", l.socket)
	ctx, cancel := context.WithCancel(ctx)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan struct{})
	go func() {
		_ = s.Serve(listener)
		close(ended)
	}()
	return "http://" + listener.Addr().String(), func() { cancel(); _ = s.Close(); <-ended }, nil
}

// liar is a proxy that passes on messages between server and clients, and adds lies to
// those for the clients.
type liar struct {
	ws string
	tongue
}

// answer adds lies to an HTTP response.
func (l *liar) answer(r *http.Response) error {
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	if l.refuses(r.Request.URL.Path) {
		r.StatusCode = http.StatusTooManyRequests
	}
	body = twist(r.Request.URL.Path, body)
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	r.ContentLength = int64(len(body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// socket passes on frames until one side ends, and then closes the other side in the same
// way.
func (l *liar) socket(w http.ResponseWriter, r *http.Request) {
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}}
	server, answer, err := dialer.DialContext(r.Context(), l.ws, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_ = answer.Body.Close()
	defer server.Close()
	upgrader := websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}}
	client, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer client.Close()
	defer context.AfterFunc(r.Context(), func() { _ = client.Close() })()
	done := make(chan struct{})
	go func() {
		hand(server, client, func(frame []byte) [][]byte { return [][]byte{frame} })
		close(done)
	}()
	hand(client, server, l.frame)
	<-done
}

// hand passes on frames from one connection to the other, and closes both at the end.
func hand(to, from *websocket.Conn, say func([]byte) [][]byte) {
	defer to.Close()
	defer from.Close()
	for {
		_, frame, err := from.ReadMessage()
		var ended *websocket.CloseError
		if errors.As(err, &ended) && ended.Code != websocket.CloseNoStatusReceived && ended.Code != websocket.CloseAbnormalClosure {
			_ = to.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(ended.Code, ended.Text), time.Now().Add(time.Second))
		}
		if err != nil {
			return
		}
		for _, output := range say(frame) {
			if to.WriteMessage(websocket.TextMessage, output) != nil {
				return
			}
		}
	}
}

// twist returns the changed body for a path.
func twist(path string, body []byte) []byte {
	switch {
	case strings.HasSuffix(path, "/behaviours"):
		return more("accepted", body)
	case strings.Contains(path, "/matches/"):
		return more("score", body)
	case strings.Count(path, "/leaderboards/") == 1:
		head, explained, _ := bytes.Cut(more("rank", more("score", body)), []byte(`"explain"`))
		if explained == nil {
			return head
		}
		return append(append(slices.Clip(head), `"explain"`...), more("value", explained)...)
	case path == "/metrics":
		return offered.ReplaceAll(body, []byte("${0}1")) // ten times the number, plus one
	}
	return body
}
