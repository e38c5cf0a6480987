package config_test

import (
	"strings"
	"testing"

	"a2aserve/impl/config"
)

func agui(section string) string {
	return strings.Replace(valid, "{driver: demo}", "{driver: agui, agui: "+section+"}", 1)
}

func TestAGUI(t *testing.T) {
	t.Setenv("AGUI_TEST_TOKEN", "s3cret")
	c := parse(t, agui("{url: 'http://127.0.0.1:8090/agui', token_env: AGUI_TEST_TOKEN}"))
	if a := c.Agent.AGUI; a.Sessions != "single" || a.StartTimeout != "30s" || a.MaxLineBytes != 1<<20 || c.AGUIToken.Reveal() != "s3cret" || strings.Contains(c.String(), "s3cret") {
		t.Errorf("%+v", c.Agent)
	}
	if c := parse(t, agui("{url: 'https://agent.example.com/agui', sessions: per_context}")); c.AGUIToken.Reveal() != "" {
		t.Error("a token from nowhere")
	}
	linked := parse(t, agui("{url: 'http://127.0.0.1:8090/agui', control: {secret_env: AGUI_TEST_TOKEN}}"))
	if l := linked.Agent.AGUI.Control; l.Bind != "127.0.0.1:8092" || l.LeaseID != "a2aserve" || l.CancelTimeout != "10s" || linked.AGUIControl.Reveal() != "s3cret" || strings.Contains(linked.String(), "s3cret") {
		t.Errorf("%+v", l)
	}
	parse(t, agui("{url: 'http://127.0.0.1:8090/agui', control: {secret_env: AGUI_TEST_TOKEN, bind: '0.0.0.0:8092', allow_remote: true}}"))
	t.Setenv("AGUI_TEST_EMPTY", "")
	link := func(section string) string { return agui("{url: 'https://a.example.com', control: " + section + "}") }
	for text, want := range map[string]string{
		agui("{}"): "agent.agui.url: required",
		agui("{url: 'http://agent.example.com/agui'}"):                     "https URL without a user",
		agui("{url: 'https://user:pw@agent.example.com/'}"):                "https URL without a user",
		agui("{url: 'https://a.example.com', token_env: AGUI_TEST_UNSET}"): "agent.agui.token_env: the environment variable AGUI_TEST_UNSET is not set",
		agui("{url: 'https://a.example.com', token_env: AGUI_TEST_EMPTY}"): "is empty",
		agui("{url: 'https://a.example.com', sessions: many}"):             "agent.agui.sessions",
		agui("{url: 'https://a.example.com', start_timeout: 0s}"):          "agent.agui.start_timeout",
		agui("{url: 'https://a.example.com', max_line_bytes: 1}"):          "agent.agui.max_line_bytes",
		agui("{url: 'https://a.example.com', tokenenv: X}"):                "did you mean token_env?",
		link("{lease_id: x}"):                 "agent.agui.control.secret_env: required",
		link("{}"):                            "agent.agui.control.secret_env: required",
		link("{secret_env: AGUI_TEST_UNSET}"): "agent.agui.control.secret_env: the environment variable AGUI_TEST_UNSET is not set",
		link("{secret_env: AGUI_TEST_EMPTY}"): "is empty",
		link("{secret_env: AGUI_TEST_TOKEN, bind: '10.0.0.1:8092'}"):                     "not encrypted",
		link("{secret_env: AGUI_TEST_TOKEN, bind: here}"):                                "agent.agui.control.bind",
		link("{secret_env: AGUI_TEST_TOKEN}, sessions: per_context"):                     "needs sessions: single",
		strings.Replace(valid, "{driver: demo}", "{driver: agui}", 1):                    "agent.agui: required for driver agui",
		strings.Replace(agui("{url: 'https://a.example.com'}"), "r: agui", "r: demo", 1): "belongs to driver agui",
	} {
		_, err := config.Parse("a2aserve.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw@") {
			t.Errorf("%s\ngives %v\nwant %s", text, err, want)
		}
	}
}
