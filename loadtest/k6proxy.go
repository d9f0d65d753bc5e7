package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// faultyProxy passes on messages between a server and its clients. It changes some of those
// for the clients.
type faultyProxy struct {
	ctx     context.Context // its end closes all websockets
	wsURL   string          // of the server
	sockets websocket.Upgrader
	faults
}

// startFaultyProxy starts a proxy in front of a server. The function stop ends it with all
// its connections.
func startFaultyProxy(ctx context.Context, server string) (address string, stop func(), err error) {
	target, err := url.Parse(server)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &faultyProxy{ctx: ctx, wsURL: "ws://" + target.Host + "/v1/ws", sockets: websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}}}
	requests := httputil.NewSingleHostReverseProxy(target)
	requests.ModifyResponse = p.changeResponse
	mux := http.NewServeMux()
	mux.Handle("/", requests)
	mux.HandleFunc("/v1/ws", p.serveSocket)
	listening := httptest.NewServer(mux)
	return listening.URL, func() { cancel(); listening.CloseClientConnections(); listening.Close() }, nil
}

// changeResponse changes an HTTP response.
func (p *faultyProxy) changeResponse(r *http.Response) error {
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	if p.shouldRefuse(r.Request.URL.Path) {
		r.StatusCode = http.StatusTooManyRequests
	}
	body = changeBody(r.Request.URL.Path, body)
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	r.ContentLength = int64(len(body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// serveSocket passes on frames until one side ends, and then closes the other side in the
// same way.
func (p *faultyProxy) serveSocket(w http.ResponseWriter, r *http.Request) {
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}}
	server, answer, err := dialer.DialContext(p.ctx, p.wsURL, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_ = answer.Body.Close()
	defer server.Close()
	client, err := p.sockets.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer client.Close()
	defer context.AfterFunc(p.ctx, func() { _ = client.Close() })()
	done := make(chan struct{})
	go func() {
		passFrames(server, client, func(frame []byte) [][]byte { return [][]byte{frame} })
		close(done)
	}()
	passFrames(client, server, p.changeFrame)
	<-done
}

// passFrames passes on frames from one connection to the other, and closes both at the end.
func passFrames(to, from *websocket.Conn, change func([]byte) [][]byte) {
	defer to.Close()
	defer from.Close()
	for {
		_, frame, err := from.ReadMessage()
		if ended, ok := errors.AsType[*websocket.CloseError](err); ok && ended.Code != websocket.CloseNoStatusReceived && ended.Code != websocket.CloseAbnormalClosure {
			_ = to.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(ended.Code, ended.Text), time.Now().Add(time.Second))
		}
		if err != nil {
			return
		}
		for _, changed := range change(frame) {
			if to.WriteMessage(websocket.TextMessage, changed) != nil {
				return
			}
		}
	}
}
