package binding

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/decode"
	"a2aserve/impl/wire"

	"github.com/go-json-experiment/json/jsontext"
)

// maxID bounds a request id, in bytes: it is repeated in every frame of a stream.
const maxID = 1024

// serveJSONRPC is the JSON-RPC binding (A2A §9). It returns the stream that is to be written.
func (h *Handler) serveJSONRPC(w http.ResponseWriter, r *http.Request) *following {
	to := reply{w, r, wire.JSONRPC, nil}
	call.From(r.Context()).Route = h.JSONRPCPath
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		h.fail(to, a2a.MethodNotAllowedError.Errorf("JSON-RPC requests are sent with POST"))
		return nil
	}
	err := wire.CheckBody(r)
	var body []byte
	if err == nil {
		body, err = wire.ReadBody(r)
	}
	if err != nil {
		h.fail(to, err)
		return nil
	}
	// The envelope comes before the version, so that a version error carries the id.
	e, err := readEnvelope(body)
	to.id = e.id
	if err == nil {
		err = h.negotiate(r)
	}
	if err != nil {
		h.fail(to, err)
		return nil
	}
	o := op.ByName(e.method)
	if o == nil {
		h.fail(to, &a2a.Error{Type: a2a.MethodNotFoundError})
		return nil
	}
	operation(r, o)
	if err := h.admit(r, o); err != nil {
		h.fail(to, err)
		return nil
	}
	if k := e.params.Kind(); k != 0 && k != '{' && k != 'n' {
		h.fail(to, decode.Invalid([]a2a.Violation{{Field: "params", Description: "must be an object"}}))
		return nil
	} else if k == 'n' {
		e.params = nil
	}
	in, err := h.decode(o, e.params, nil, nil)
	if err != nil {
		h.fail(to, err)
		return nil
	}
	return h.answer(to, o, in)
}

// envelope is a JSON-RPC request object. Its id and params are parts of the body.
type envelope struct {
	version string
	id      jsontext.Value // nil where it is absent or unusable
	method  string
	params  jsontext.Value
}

// readEnvelope takes a body apart. With an error it returns the id as far as it is known.
func readEnvelope(body []byte) (envelope, error) {
	var e envelope
	// A parser that gives up would be taken for one that met bad syntax.
	if decode.Nesting(body) > decode.ParserDepth {
		return e, a2a.JSONParseError.Errorf("%s: nested deeper than %d levels", a2a.JSONParseError.Message, decode.ParserDepth)
	}
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	// Whatever the value is, it is read to its end: broken JSON is a parse error also
	// where it would have been a batch.
	first := d.PeekKind()
	problem, err := "", error(nil)
	if first == '{' {
		problem, err = e.members(d, body)
	} else {
		err = d.SkipValue()
	}
	if err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			err = nil
		} else if err == nil {
			err = errors.New("more than one value")
		}
	}
	switch {
	case err != nil:
		return envelope{}, a2a.JSONParseError.Errorf("%s", a2a.JSONParseError.Message).Because(err)
	case first == '[':
		problem = "batches are not served; send one request at a time"
	case first != '{':
		problem = "a request is an object"
	case problem == "":
		problem = e.problem()
	}
	if problem != "" {
		return e, a2a.InvalidRequestError.Errorf("%s: %s", a2a.InvalidRequestError.Message, problem)
	}
	return e, nil
}

// members reads the object; the error is one of syntax. Names are exact: another case is
// another, unknown name. A name that is there twice would let two readers of one request
// see different things.
func (e *envelope) members(d *jsontext.Decoder, body []byte) (problem string, err error) {
	if _, err := d.ReadToken(); err != nil {
		return "", err
	}
	seen := map[string]bool{}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return "", err
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return "", err
		}
		end := d.InputOffset()
		v = body[end-int64(len(v)) : end : end] // the decoder will use its own copy again
		if seen[name] && problem == "" {
			problem = fmt.Sprintf("%.40q is there twice", name)
		}
		// With two ids nobody knows which one the caller would recognise.
		if seen[name] && name == "id" {
			e.id = nil
			continue
		}
		seen[name] = true
		switch name {
		case "jsonrpc":
			e.version = text(v)
		case "id":
			if k := v.Kind(); k == '"' || k == '0' || k == 'n' {
				e.id = v
			}
		case "method":
			e.method = text(v)
		case "params":
			e.params = v
		}
	}
	_, err = d.ReadToken()
	return problem, err
}

// problem says what keeps the members from being a request. A notification is refused and
// not carried out: A2A has none, and its sender would never learn what became of it.
func (e *envelope) problem() string {
	switch {
	case e.id == nil:
		return `"id" must be a string, a number or null; notifications are not served`
	case len(e.id) > maxID:
		e.id = nil
		return fmt.Sprintf(`"id" is longer than %d bytes`, maxID)
	case e.version != "2.0":
		return `"jsonrpc" must be "2.0"`
	case e.method == "":
		return `"method" must be the name of an operation`
	}
	return ""
}

// text is the content of a JSON string, which the parser has accepted; of anything else it
// is nothing.
func text(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}
