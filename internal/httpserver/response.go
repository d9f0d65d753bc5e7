package httpserver

import (
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"strconv"

	"laststand/internal/protocol"
)

const jsonType = "application/json"

// The results of a handler. Any other value is encoded as JSON with status 200, and nil means
// status 204.
type (
	// Response is a response with another status. Body is encoded as JSON unless it is a Raw;
	// nil means no body.
	Response struct {
		Status int
		Body   any
	}
	// Raw is a body that is encoded already.
	Raw struct {
		ContentType string
		Content     []byte
	}
	// File is a body in a temporary file, which the client saves under Name. Respond closes
	// Content.
	File struct {
		ContentType, Name string
		Content           *os.File
	}
	// Written means that the handler has written the response itself, with this status.
	Written int
)

// StatusOf returns the HTTP status of a handler's result.
func StatusOf(result any) int {
	switch result := result.(type) {
	case nil:
		return http.StatusNoContent
	case Response:
		return result.Status
	case Written:
		return int(result)
	}
	return http.StatusOK
}

// Respond writes a handler's result as the response.
func Respond(w http.ResponseWriter, result any) {
	if _, isWritten := result.(Written); isWritten {
		return
	}
	status := StatusOf(result)
	if response, ok := result.(Response); ok {
		result = response.Body
	}
	switch body := result.(type) {
	case nil:
		w.WriteHeader(status)
	case Raw:
		write(w, status, body)
	case File:
		body.write(w)
	default:
		write(w, status, Raw{jsonType, append(protocol.EncodeJSON(body), '\n')})
	}
}

// write writes a complete response. It ignores the error if the client has disconnected.
func write(w http.ResponseWriter, status int, body Raw) {
	w.Header().Set("Content-Type", body.ContentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body.Content)))
	w.WriteHeader(status)
	_, _ = w.Write(body.Content)
}

// write writes a file as the response. It ignores the error if the client has disconnected.
func (f File) write(w http.ResponseWriter) {
	defer f.Content.Close()
	w.Header().Set("Content-Type", f.ContentType)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	if info, err := f.Content.Stat(); err == nil {
		w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	}
	w.WriteHeader(http.StatusOK)
	_, _ = io.Copy(w, io.NewSectionReader(f.Content, 0, math.MaxInt64))
}

// StatusWriter records the status of a response.
type StatusWriter struct {
	http.ResponseWriter
	Status int // 0: nothing was written yet
}

// WriteHeader implements http.ResponseWriter.
func (w *StatusWriter) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *StatusWriter) Write(body []byte) (int, error) {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	return w.ResponseWriter.Write(body)
}

// Unwrap lets http.ResponseController find the wrapped writer.
func (w *StatusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
