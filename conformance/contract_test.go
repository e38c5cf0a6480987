package conformance

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// contract holds the REST exchanges of the vectors against spec/openapi.json.
type contract struct{ router routers.Router }

func loadContract(t *testing.T) *contract {
	t.Helper()
	data, err := os.ReadFile("../spec/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("spec/openapi.json is not a valid description: %v", err)
	}
	doc.Servers = openapi3.Servers{{URL: "http://described.invalid/a2a/v1"}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"application/a2a+json"} {
		openapi3filter.RegisterBodyDecoder(m, openapi3filter.RegisteredBodyDecoder("application/json"))
	}
	return &contract{router}
}

// check says where an exchange leaves the description: a request that was accepted must
// be described, and every response too.
func (c *contract) check(req *http.Request, sent []byte, res *http.Response, answer []byte) error {
	u, err := url.Parse("http://described.invalid" + req.URL.RequestURI())
	if err != nil {
		return err
	}
	seen := req.Clone(context.Background())
	seen.URL, seen.Host = u, u.Host
	seen.Body = io.NopCloser(bytes.NewReader(sent))
	route, params, err := c.router.FindRoute(seen)
	if err != nil {
		return err
	}
	in := &openapi3filter.RequestValidationInput{
		Request: seen, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if res.StatusCode == http.StatusOK && !oldSpelling(sent, req.URL.RawQuery) {
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			return err
		}
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		answer = nil
		in.Options.ExcludeResponseBody = true
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Options: in.Options}
	out.SetBodyBytes(answer)
	return openapi3filter.ValidateResponse(context.Background(), out)
}

// oldSpelling reports what this server reads beyond the description: explicit nulls,
// the proto's names and numbers (DIVERGENCES 10 and 11).
func oldSpelling(body []byte, query string) bool {
	return bytes.Contains(body, []byte(":null")) || bytes.Contains(body, []byte("_id")) || strings.Contains(query, "_")
}
