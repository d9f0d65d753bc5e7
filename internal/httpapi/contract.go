package httpapi

import (
	"net/http"

	"laststand/docs"
)

// yamlType is the registered media type of YAML (RFC 9512).
const yamlType = "application/yaml"

func (*statusRoutes) getOpenAPI(w http.ResponseWriter, _ *request) error {
	writeResponse(w, http.StatusOK, yamlType, docs.OpenAPI)
	return nil
}

func (*statusRoutes) getAsyncAPI(w http.ResponseWriter, _ *request) error {
	writeResponse(w, http.StatusOK, yamlType, docs.AsyncAPI)
	return nil
}
