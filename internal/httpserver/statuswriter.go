package httpserver

import "net/http"

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
