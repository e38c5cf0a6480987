package card

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readFile reads the card's file. What is derived is filled in first, so that a file
// without it is held against the schema all the same.
func (c *Card) readFile() error {
	o := c.options
	b, err := os.ReadFile(o.File)
	if err != nil {
		return &InvalidError{[]string{"cannot read the card: " + err.Error()}}
	}
	var doc map[string]jsontext.Value
	if err := json.Unmarshal(b, &doc); err != nil {
		return &InvalidError{[]string{syntax(o.File, b, err)}}
	}
	if doc["signatures"] != nil {
		if c.signed, err = unsigned(b); err != nil {
			return &InvalidError{[]string{o.File + ": " + err.Error()}}
		}
	}
	for _, k := range []string{"securitySchemes", "securityRequirements"} {
		delete(doc, k)
	}
	derived := map[string]any{"supportedInterfaces": interfaces(o, o.BaseURL), "capabilities": a2a.AgentCapabilities{}}
	for name, modes := range map[string][]string{"defaultInputModes": o.InputModes, "defaultOutputModes": o.OutputModes} {
		var said []string
		if doc[name] == nil || json.Unmarshal(doc[name], &said) == nil && len(said) == 0 {
			derived[name] = modes
		}
	}
	for name, v := range derived {
		if doc[name], err = json.Marshal(v); err != nil {
			return &InvalidError{[]string{o.File + ": " + err.Error()}}
		}
	}
	whole, err := json.Marshal(doc)
	if err == nil {
		err = decode.Decode(decode.Input{Def: "AgentCard", JSON: whole}, &c.content)
	}
	if err != nil {
		return invalid(o.File, err)
	}
	return nil
}

// unsigned is what the signatures of a card cover, near enough to compare: the document
// without them, in canonical form (A2A §8.4.1).
func unsigned(doc []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, err
	}
	delete(members, "signatures")
	b, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(b)
	err = v.Canonicalize()
	return v, err
}

// covers says whether signatures over one document hold for another. It errs on the side
// of no: a signature that is missing is better than one that fails.
func covers(signed, doc []byte) bool {
	b, err := unsigned(doc)
	return err == nil && bytes.Equal(signed, b)
}

// syntax says in which line a file stops being a JSON object.
func syntax(path string, b []byte, err error) string {
	offset := int64(0)
	text := "expected a JSON object, the Agent Card"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset, text = e.ByteOffset, "not valid JSON: "+e.Err.Error()
	}
	line := 1 + strings.Count(string(b[:min(int(offset), len(b))]), "\n")
	return fmt.Sprintf("%s:%d: %s", path, line, text)
}

// invalid turns a decoding error into one that names the file and each field.
func invalid(source string, err error) *InvalidError {
	e, ok := errors.AsType[*a2a.Error](err)
	if !ok || len(e.Violations) == 0 {
		return &InvalidError{[]string{source + ": " + err.Error()}}
	}
	var out InvalidError
	for _, v := range e.Violations {
		out.Problems = append(out.Problems, fmt.Sprintf("%s: %s: %s", source, v.Field, v.Description))
	}
	return &out
}
