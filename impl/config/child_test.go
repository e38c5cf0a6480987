package config

import (
	"slices"
	"strings"
	"testing"
)

const childCard = "card: {name: n, description: d, version: 1.0.0, skills: [{id: i, name: n, description: d, tags: [t]}]}\n"

func TestChild(t *testing.T) {
	c, err := Parse("f.yaml", []byte(childCard+"agent: {driver: child, child: {command: tr, args: [a-z, A-Z], env: {A: \"1\"}, env_pass: [HOME]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := c.Agent.Child
	if a.Command != "tr" || !slices.Equal(a.Args, []string{"a-z", "A-Z"}) || a.Env["A"] != "1" || a.Protocol != "text" || a.StopGrace != "5s" || a.Sessions != "per_context" || a.IdleTimeout != "15m" || a.StartTimeout != "30s" || a.MaxLineBytes != 8<<20 {
		t.Errorf("%+v", a)
	}
	for text, want := range map[string]string{
		"{driver: child}":                                          "agent.child.command: required with driver child",
		"{driver: child, child: {args: [x]}}":                      "agent.child.command: required, but missing",
		"{driver: child, child: {command: \"\"}}":                  "agent.child.command: expected text that is not empty",
		"{driver: child, child: {command: a, env_pass: [1x]}}":     "agent.child.env_pass[0]: expected the name of an environment variable",
		"{driver: child, child: {command: a, args: [\"x\\0\"]}}":   "agent.child.args[0]: holds a NUL character",
		"{driver: child, child: {command: a, stop_grace: \"0s\"}}": "agent.child.stop_grace: expected a duration above zero",
		"{driver: child, child: {command: a, protocol: binary}}":   "agent.child.protocol: expected",
		"{driver: child, child: {command: a, comand: b}}":          "did you mean command?",
	} {
		if _, err := Parse("f.yaml", []byte(childCard+"agent: "+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
