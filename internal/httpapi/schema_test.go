package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"laststand/docs"
)

// document is a YAML document with schemas. In the tests, objects allow no
// undeclared properties, so the tests find undocumented fields. Readers of the
// contract must allow them.
type document struct {
	root any

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	mux      *http.ServeMux // matches a request to its operation; only for OpenAPI
}

var (
	openAPI  = sync.OnceValue(func() *document { return readDocument(docs.OpenAPI) })
	asyncAPI = sync.OnceValue(func() *document { return readDocument(docs.AsyncAPI) })
)

// contractLocation is the name of the document in the compiler.
const contractLocation = "contract.json"

func readDocument(text []byte) *document {
	var raw any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		panic(err)
	}
	encoded, err := json.Marshal(raw)
	if err != nil {
		panic(err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		panic(err)
	}
	forbidUndeclaredProperties(root)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(contractLocation, root); err != nil {
		panic(err)
	}
	return &document{root: root, compiler: c, mux: operationsMux(root)}
}

// forbidUndeclaredProperties makes schemas of objects refuse properties that they do not declare.
func forbidUndeclaredProperties(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, open := n["additionalProperties"]; !open && n["type"] == "object" && n["properties"] != nil {
			n["additionalProperties"] = false
		}
		for _, child := range n {
			forbidUndeclaredProperties(child)
		}
	case []any:
		for _, child := range n {
			forbidUndeclaredProperties(child)
		}
	}
}

// operationsMux returns a mux with the operations of an OpenAPI document.
func operationsMux(root any) *http.ServeMux {
	mux := http.NewServeMux()
	paths, _ := root.(map[string]any)["paths"].(map[string]any)
	for path, item := range paths {
		for method := range item.(map[string]any) {
			mux.Handle(strings.ToUpper(method)+" "+path, http.NotFoundHandler())
		}
	}
	return mux
}

// find returns the node at a path of the document and its JSON pointer (RFC
// 6901). It follows references. The node is nil if there is none.
func (d *document) find(path ...string) (any, string) {
	node, pointer := d.root, ""
	for _, key := range path {
		object, _ := node.(map[string]any)
		node = object[key]
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		if object, ok := node.(map[string]any); ok && object["$ref"] != nil {
			pointer = strings.TrimPrefix(object["$ref"].(string), "#")
			node, _ = d.find(strings.Split(strings.TrimPrefix(pointer, "/"), "/")...)
		}
	}
	return node, pointer
}

// validate validates JSON against the schema at a pointer.
func (d *document) validate(pointer string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	escaped := strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(pointer)
	schema, err := d.compiler.Compile(contractLocation + "#" + escaped)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// checkResponse checks the status, the media type and the body of a response
// against the contract.
func checkResponse(t testing.TB, r *http.Request, rec *httptest.ResponseRecorder) {
	t.Helper()
	if err := contractError(r, rec); err != nil {
		t.Errorf("%s %s: %d %s: %v", r.Method, r.URL, rec.Code, rec.Body, err)
	}
}

func contractError(r *http.Request, rec *httptest.ResponseRecorder) error {
	contentType := rec.Header().Get("Content-Type")
	_, pattern := openAPI().mux.Handler(r)
	method, path, found := strings.Cut(pattern, " ")
	if !found { // no operation of the contract: a refusal, the page or a preflight
		if rec.Code >= 400 && r.URL.Path != "/" {
			return openAPI().validate("/components/schemas/Problem", rec.Body.Bytes())
		}
		return nil
	}
	responses := []string{"paths", path, strings.ToLower(method), "responses"}
	response, _ := openAPI().find(append(responses, strconv.Itoa(rec.Code))...)
	status := strconv.Itoa(rec.Code)
	if response == nil {
		if rec.Code < 400 {
			return fmt.Errorf("status %d is not in the contract", rec.Code)
		}
		status = "default"
	}
	if content, _ := openAPI().find(append(responses, status, "content")...); content == nil {
		return nil
	}
	schema, pointer := openAPI().find(append(responses, status, "content", contentType, "schema")...)
	if schema == nil {
		return fmt.Errorf("type %q is not in the contract", contentType)
	}
	if contentType == yamlType || rec.Header().Get("Content-Disposition") != "" {
		return nil
	}
	return openAPI().validate(pointer, rec.Body.Bytes())
}
