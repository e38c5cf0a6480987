package nexus_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/nexus"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// typed is an event with its name.
type typed struct {
	Type    string         `json:"type"`
	Payload jsontext.Value `json:"payload"`
}

// step is one line of a recorded session: what happens, and what comes of it.
type step struct {
	Note     string         `json:"note"`
	Begin    *event.Input   `json:"begin"`
	Hear     string         `json:"hear"` // a Nexus event with its payload
	Tell     string         `json:"tell"` // an event of the server with its payload
	Payload  jsontext.Value `json:"payload"`
	Veto     map[string]any `json:"veto"` // the metadata of a request to a model
	Vetoed   bool           `json:"vetoed"`
	Repair   []string       `json:"repair"`
	Repaired bool           `json:"repaired"`
	Want     []typed        `json:"want"`
	Told     *typed         `json:"told"`
}

var payloads = func() map[string]reflect.Type {
	m := map[string]reflect.Type{}
	for _, p := range []nexus.Payload{
		nexus.Input{}, nexus.TurnStart{}, nexus.TurnEnd{}, nexus.LLMRequest{}, nexus.LLMResponse{}, nexus.Output{}, nexus.Error{},
		nexus.Fallback{}, nexus.HITLRequested{}, nexus.HITLResponded{}, nexus.HITLCancel{}, nexus.CancelRequest{},
		nexus.CancelActive{}, nexus.CancelComplete{}, nexus.CancelResume{}, nexus.ToolInvoke{}, nexus.ToolResult{}, nexus.ThinkingStep{},
		nexus.SubagentStarted{}, nexus.SubagentIteration{}, nexus.SubagentComplete{},
	} {
		m[p.EventName()] = reflect.TypeOf(p)
	}
	return m
}()

func decode(t *testing.T, name string, doc jsontext.Value) nexus.Payload {
	t.Helper()
	typ, ok := payloads[name]
	if !ok {
		t.Fatalf("no payload for %s", name)
	}
	v := reflect.New(typ)
	if err := json.Unmarshal(doc, v.Interface()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v.Elem().Interface().(nexus.Payload)
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	value := jsontext.Value(doc)
	if err := value.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// TestRecordedSessions reads payloads in the shape that Nexus gives them.
func TestRecordedSessions(t *testing.T) {
	for _, file := range []string{"turn", "cancel"} {
		t.Run(file, func(t *testing.T) {
			doc, err := os.ReadFile("testdata/" + file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var steps []step
			if err := json.Unmarshal(doc, &steps, json.RejectUnknownMembers(true)); err != nil {
				t.Fatal(err)
			}
			s := nexus.NewSession(nil)
			for i, st := range steps {
				t.Run(fmt.Sprintf("%d %s%s", i, st.Hear, st.Tell), func(t *testing.T) { st.play(t, s) })
			}
		})
	}
}

func (st step) play(t *testing.T, s *nexus.Session) {
	if st.Note != "" {
		t.Log(st.Note)
	}
	switch {
	case st.Begin != nil:
		if in := s.Begin(*st.Begin); in.Content != st.Begin.Text || in.SessionID != st.Begin.ContextID {
			t.Errorf("the agent gets %+v", in)
		}
	case st.Hear != "":
		got := []typed{}
		for _, e := range s.Hear(decode(t, st.Hear, st.Payload)) {
			got = append(got, typed{e.EventType(), jsontext.Value(canonical(t, e))})
		}
		if got, want := canonical(t, got), canonical(t, append([]typed{}, st.Want...)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	case st.Tell != "":
		i := slices.IndexFunc(event.Types, func(r event.Type) bool { return r.Name == st.Tell })
		e := event.Types[i].New()
		if err := json.Unmarshal(st.Payload, e); err != nil {
			t.Fatal(err)
		}
		var got, want string
		for _, p := range s.Tell(event.Types[i].Value(e)) {
			got += canonical(t, typed{p.EventName(), jsontext.Value(canonical(t, p))})
		}
		if st.Told != nil {
			want = canonical(t, st.Told)
		}
		if got != want {
			t.Errorf("told %s\nwant %s", got, want)
		}
	case st.Veto != nil:
		if reason, vetoed := s.Vetoes(nexus.LLMRequest{Metadata: st.Veto}); vetoed != st.Vetoed || vetoed == (reason == "") {
			t.Errorf("%v: vetoed %t for %q", st.Veto, vetoed, reason)
		}
	case st.Repaired:
		s.Repaired()
	case st.Repair != nil:
		got := []string{}
		for _, p := range s.Repair(false) {
			switch p := p.(type) {
			case nexus.CancelResume:
				got = append(got, p.EventName()+" "+p.TurnID)
			case nexus.TurnEnd:
				got = append(got, p.EventName()+" "+p.TurnID)
			}
		}
		if !slices.Equal(got, st.Repair) {
			t.Errorf("repair %q, want %q", got, st.Repair)
		}
	default:
		t.Fatal("a step without an action")
	}
}

// TestInputOfEveryKind: an agent that was allowed more than text gets it as files.
func TestInputOfEveryKind(t *testing.T) {
	text, url := "look at", "https://example.com/x.png"
	got := nexus.NewSession(nil).Begin(event.Input{TaskID: "t", ContextID: "c", Text: text, Parts: []a2a.Part{
		{Text: &text}, {Raw: []byte("png"), Filename: "a.png", MediaType: "image/png"}, {Raw: []byte("?")},
		{Data: a2a.Value(`{"k":1}`)}, {URL: &url},
	}})
	want := nexus.Input{Content: text + "\n" + url, SessionID: "c", Files: []nexus.File{
		{Name: "a.png", MimeType: "image/png", Data: []byte("png")},
		{Name: "file-3", MimeType: "application/octet-stream", Data: []byte("?")},
		{Name: "data-4.json", MimeType: "application/json", Data: []byte(`{"k":1}`)},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestAgentsOfOtherMakes are known by the ids that they were given.
func TestAgentsOfOtherMakes(t *testing.T) {
	s := nexus.NewSession([]string{"acme.agent"})
	s.Begin(event.Input{TaskID: "t"})
	s.Hear(nexus.TurnStart{TurnID: "x"})
	failed := func(source string) bool {
		es := s.Hear(nexus.Error{Err: "no", RequestMeta: map[string]any{"_source": source}})
		return len(es) == 1 && es[0].(event.CoreError).TurnID == "x"
	}
	if !failed("acme.agent") || !failed("acme.agent.writer") || failed("acme.agents") || failed("nexus.agent.react") {
		t.Error("the agent is not told from others")
	}
}

// TestStructureThatIsNoJSON degrades visibly.
func TestStructureThatIsNoJSON(t *testing.T) {
	s := nexus.NewSession(nil)
	s.Begin(event.Input{TaskID: "t"})
	s.Hear(nexus.TurnStart{TurnID: "x"})
	es := s.Hear(nexus.ToolResult{ID: "c", TurnID: "x", Output: "text", OutputStructured: map[string]any{"f": func() {}}})
	if r := es[0].(event.ToolResult); r.Structured != nil || r.Output != "text\n[structured output left out: it cannot be written as JSON]" {
		t.Errorf("%+v", r)
	}
}
