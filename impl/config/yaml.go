package config

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on what aliases may unfold to: a few lines can stand for billions of values, or
// contain themselves.
const (
	maxNodes = 100_000
	maxLevel = 64
)

// nexusPlugin is the block of a Nexus configuration that is ours.
const nexusPlugin = "nexus.io.a2a"

// document is a configuration as a tree, with the place of each value by JSON pointer.
type document struct {
	name     string
	root     any
	at       map[string]place
	problems []problem
	broken   bool // no YAML: there is nothing more to say

	anchors map[string]ast.Node
	nodes   int
}

type place struct {
	line, column int
	from         string // a flag, instead of a place in the file
	raw          string // a scalar as it was written
}

func parse(name string, data []byte, overrides []Override) *document {
	d := &document{name: name, root: map[string]any{}, at: map[string]place{"": {line: 1, column: 1}}, anchors: map[string]ast.Node{}}
	// Duplicate keys are ours to report, since the parser stops at the first.
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p := problem{place: place{line: 1, column: 1}, text: "not valid YAML: " + err.Error()}
		if e, ok := errors.AsType[yaml.Error](err); ok {
			p.text = "not valid YAML: " + e.GetMessage()
			if t := e.GetToken(); t != nil {
				p.place = placeOf(t)
			}
		}
		d.problems, d.broken = append(d.problems, p), true
		return d
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) > 1 {
		d.problems = append(d.problems, problem{place: placeOf(bodies[1].GetToken()), text: "a second YAML document: one is expected"})
	}
	if len(bodies) > 0 {
		ast.Walk(anchorCollector(d.anchors), bodies[0])
		d.read(bodies[0])
	}
	if d.root == nil {
		d.root = map[string]any{} // nothing but comments
	}
	for _, o := range overrides {
		d.override(o)
	}
	return d
}

// read takes the configuration from a document: all of it, or the block of a Nexus one.
// There agent and store may also stand at the top, since Nexus knows no such keys in its
// plugin's block; its other top-level keys are none of our business.
func (d *document) read(body ast.Node) {
	plugins := entry(body, "plugins")
	if plugins == nil {
		d.root = d.tree(body, "", 0)
		return
	}
	block := entry(plugins.Value, nexusPlugin)
	if block == nil {
		d.problems = append(d.problems, problem{place: placeOf(plugins.Key.GetToken()), key: "plugins",
			text: "a Nexus configuration, but without the block \"" + nexusPlugin + "\" that is read here"})
		return
	}
	d.at[""] = placeOf(block.Key.GetToken())
	d.root = d.tree(block.Value, "", 0)
	root, ok := d.root.(map[string]any)
	if !ok {
		return
	}
	for _, key := range []string{"agent", "store"} {
		beside := entry(body, key)
		if beside == nil {
			continue
		}
		if _, twice := root[key]; twice {
			d.problems = append(d.problems, problem{place: placeOf(beside.Key.GetToken()), key: key,
				text: "stands both here and in plugins." + nexusPlugin + ": one place is expected"})
			continue
		}
		d.at["/"+key] = placeOf(beside.Key.GetToken())
		root[key] = d.tree(beside.Value, "/"+key, 0)
	}
}

// tree turns a node into maps, slices and scalars, and notes where each stands.
func (d *document) tree(n ast.Node, ptr string, level int) any {
	if d.nodes++; d.nodes > maxNodes || level > maxLevel {
		if d.nodes <= maxNodes+1 || level == maxLevel+1 {
			d.nodes = maxNodes + 1
			d.problems = append(d.problems, problem{place: d.at[ptr], key: keyPath(ptr), text: "too large or too deeply nested"})
		}
		return nil
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		return d.tree(n.Value, ptr, level+1)
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := d.anchors[name]
		if !ok {
			d.problems = append(d.problems, problem{place: d.at[ptr], key: keyPath(ptr), text: "no anchor &" + name + " in this file"})
			return nil
		}
		return d.tree(target, ptr, level+1)
	case *ast.TagNode:
		if n.Start.Value == "!!str" {
			return n.Value.GetToken().Value
		}
		d.problems = append(d.problems, problem{place: d.at[ptr], key: keyPath(ptr), text: "the YAML tag " + n.Start.Value + " is not read here"})
		return nil
	case *ast.MappingNode:
		return d.mapping(n.Values, ptr, level)
	case *ast.MappingValueNode:
		return d.mapping([]*ast.MappingValueNode{n}, ptr, level)
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, v := range n.Values {
			p := ptr + "/" + strconv.Itoa(i)
			d.at[p] = placeOf(first(v))
			list[i] = d.tree(v, p, level+1)
		}
		return list
	}
	return d.scalar(n, ptr)
}

// mapping reports a key that recurs instead of letting one of the values win: whoever
// wrote both looks at the wrong one.
func (d *document) mapping(values []*ast.MappingValueNode, ptr string, level int) any {
	m := make(map[string]any, len(values))
	for _, v := range values {
		t := v.Key.GetToken()
		if v.Key.IsMergeKey() {
			d.problems = append(d.problems, problem{place: placeOf(t), key: keyPath(ptr), text: "merge keys (<<) are not read: write the keys out"})
			continue
		}
		key := t.Value
		p := ptr + "/" + escape(key)
		if _, twice := m[key]; twice {
			d.problems = append(d.problems, problem{place: placeOf(t), key: keyPath(p),
				text: "the key stands twice, first in line " + strconv.Itoa(d.at[p].line)})
			continue
		}
		d.at[p] = placeOf(t)
		m[key] = d.tree(v.Value, p, level+1)
	}
	return m
}

// scalar keeps the text as it was written, for errors. Types are YAML 1.2's: yes and on
// are text, and a switch that is given them is reported.
func (d *document) scalar(n ast.Node, ptr string) any {
	at := d.at[ptr]
	at.raw = n.GetToken().Value
	d.at[ptr] = at
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	}
	return at.raw
}

// override sets one key of the tree before it is validated, so that a flag is held to
// the same rules, and the error names the flag.
func (d *document) override(o Override) {
	m, ok := d.root.(map[string]any)
	ptr, keys := "", strings.Split(o.Key, ".")
	for i, key := range keys {
		if !ok {
			return // the file is wrong there already
		}
		ptr += "/" + escape(key)
		if i == len(keys)-1 {
			m[key] = o.Value
			d.at[ptr] = place{from: o.From}
			return
		}
		if m[key] == nil {
			m[key] = map[string]any{}
		}
		m, ok = m[key].(map[string]any)
	}
}

type anchorCollector map[string]ast.Node

// Visit notes where anchors are: an alias may follow in another part of the file.
func (c anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		c[a.Name.GetToken().Value] = a.Value
	}
	return c
}

// entry finds a key before the tree is made, since only a part of a Nexus file is read.
func entry(n ast.Node, key string) *ast.MappingValueNode {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.AnchorNode:
		return entry(n.Value, key)
	}
	for _, v := range values {
		if v.Key.GetToken().Value == key {
			return v
		}
	}
	return nil
}

// first is the token that a node begins with; a mapping's own token is its first colon.
func first(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return first(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

func placeOf(t *token.Token) place {
	return place{line: t.Position.Line, column: t.Position.Column}
}

// escape and unescape follow RFC 6901: keys may hold slashes.
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func unescape(key string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
}
