package validate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on what aliases may unfold to: a few lines can stand for billions of values, or
// contain themselves.
const (
	maxNodes = 1_000_000
	maxLevel = 256
)

// yaml validates the documents of a YAML file, which is read as a whole.
func (f *file) yaml(in *source) {
	text, err := io.ReadAll(io.LimitReader(in.in, int64(in.max)+1))
	if in.err = err; err != nil {
		return
	}
	in.err = io.EOF
	if len(text) > in.max {
		f.fail(tooLarge(1, in.max))
		return
	}
	// Duplicate keys are reported as those of JSON are.
	all, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p, mark := problem{rule: "json", expected: "YAML: " + err.Error()}, mark{0, 1, 1}
		if e, ok := errors.AsType[yaml.Error](err); ok {
			p.expected = "YAML: " + e.GetMessage()
			if t := e.GetToken(); t != nil {
				mark.line, mark.column = t.Position.Line, t.Position.Column
			}
		}
		f.finding(p, tablePlaces{mark}, "")
		return
	}
	for _, doc := range all.Docs {
		if doc.Body == nil {
			continue
		}
		y := yamlReader{anchors: map[string]ast.Node{}, max: in.max}
		ast.Walk(y, doc.Body)
		y.value(doc.Body, 0)
		if y.fault != nil {
			if !f.finding(*y.fault, y.places, "") {
				return
			}
		} else if !f.give(document{text: y.out.Bytes(), at: y.places}) {
			return
		}
	}
}

// yamlReader writes a YAML document as JSON, and notes where each value and each name comes from.
type yamlReader struct {
	out     bytes.Buffer
	places  tablePlaces
	anchors map[string]ast.Node
	nodes   int
	max     int // bytes of out
	fault   *problem
}

// Visit notes where anchors are.
func (y yamlReader) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		y.anchors[a.Name.GetToken().Value] = a.Value
	}
	return y
}

// fail ends the reading: what is not JSON's cannot be judged.
func (y *yamlReader) fail(t *token.Token, format string, args ...any) {
	if y.fault == nil {
		y.fault = &problem{rule: "json", expected: fmt.Sprintf(format, args...)}
		y.places = tablePlaces{{0, t.Position.Line, t.Position.Column}}
	}
}

func (y *yamlReader) mark(t *token.Token) {
	y.places = append(y.places, mark{y.out.Len(), t.Position.Line, t.Position.Column})
}

// value writes one value.
func (y *yamlReader) value(n ast.Node, level int) {
	if y.nodes++; y.nodes > maxNodes || level > maxLevel || y.out.Len() > y.max {
		y.fail(n.GetToken(), "at most %d values in %d bytes of JSON, nested at most %d levels", maxNodes, y.max, maxLevel)
	}
	if y.fault != nil {
		return
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		y.value(n.Value, level+1)
	case *ast.AliasNode:
		target, ok := y.anchors[n.Value.GetToken().Value]
		if !ok {
			y.fail(n.GetToken(), "an anchor &%s in this document", n.Value.GetToken().Value)
			return
		}
		y.value(target, level+1)
	case *ast.TagNode:
		if n.Start.Value != "!!str" {
			y.fail(n.GetToken(), "no YAML tag but !!str")
			return
		}
		y.mark(n.GetToken())
		y.text(n.Value.GetToken().Value)
	case *ast.MappingNode:
		y.mapping(n, n.Values, level)
	case *ast.MappingValueNode:
		y.mapping(n, []*ast.MappingValueNode{n}, level)
	case *ast.SequenceNode:
		y.mark(firstToken(n))
		y.out.WriteByte('[')
		for i, v := range n.Values {
			if i > 0 {
				y.out.WriteByte(',')
			}
			y.value(v, level+1)
		}
		y.out.WriteByte(']')
	default:
		y.mark(n.GetToken())
		y.scalar(n)
	}
}

func (y *yamlReader) mapping(n ast.Node, values []*ast.MappingValueNode, level int) {
	y.mark(firstToken(n))
	y.out.WriteByte('{')
	for i, v := range values {
		if v.Key.IsMergeKey() {
			y.fail(v.Key.GetToken(), "no merge key (<<): write the keys out")
		}
		if i > 0 {
			y.out.WriteByte(',')
		}
		y.mark(v.Key.GetToken())
		y.text(v.Key.GetToken().Value)
		y.out.WriteByte(':')
		y.value(v.Value, level+1)
	}
	y.out.WriteByte('}')
}

func (y *yamlReader) text(s string) {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // no UTF-8; the JSON says so, too
		b = []byte(strconv.Quote(s))
	}
	y.out.Write(b)
}

// scalar writes a scalar by YAML 1.2's types: yes and on are text.
func (y *yamlReader) scalar(n ast.Node) {
	switch n := n.(type) {
	case *ast.NullNode:
		y.out.WriteString("null")
	case *ast.StringNode:
		y.text(n.Value)
	case *ast.LiteralNode:
		y.text(n.Value.Value)
	case *ast.BoolNode:
		fmt.Fprintf(&y.out, "%t", n.Value)
	case *ast.IntegerNode:
		fmt.Fprintf(&y.out, "%d", n.Value)
	case *ast.FloatNode:
		if s := strings.TrimPrefix(n.GetToken().Value, "+"); jsontext.Value(s).IsValid() {
			y.out.WriteString(s) // as it is written
			return
		}
		fmt.Fprintf(&y.out, "%g", n.Value)
	default:
		y.fail(n.GetToken(), "a number that JSON has, or text")
	}
}

// firstToken is the one that a node begins with; a mapping's own token is its first colon.
func firstToken(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return firstToken(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}
