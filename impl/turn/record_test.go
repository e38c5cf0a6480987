package turn

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
)

func n(i int32) *int32 { return &i }

func TestRecordJSON(t *testing.T) {
	r := Record{ID: "i", ContextID: `c"`, State: a2a.TaskStateWorking, Status: []byte(`{"state":"S"}`)}
	full := r
	full.Artifacts = []ArtifactDoc{{ID: "a", JSON: []byte(`{"artifactId":"a","parts":[{"text":"x"}]}`)}}
	for i := range 5 {
		full.History = append(full.History, fmt.Appendf(nil, `{"messageId":"%d"}`, i))
	}
	head := `{"id":"i","contextId":"c\"","status":{"state":"S"}`
	artifacts := `,"artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}]`
	all := `,"history":[{"messageId":"0"},{"messageId":"1"},{"messageId":"2"},{"messageId":"3"},{"messageId":"4"}]`
	for _, c := range []struct {
		r         Record
		history   *int32
		artifacts bool
		want      string
	}{
		{r, nil, true, head + "}"},
		{full, nil, false, head + all + "}"},
		{full, nil, true, head + artifacts + all + "}"},
		{full, n(0), true, head + artifacts + "}"},
		{full, n(1), false, head + `,"history":[{"messageId":"4"}]}`},
		{full, n(3), false, head + `,"history":[{"messageId":"2"},{"messageId":"3"},{"messageId":"4"}]}`},
		{full, n(99), false, head + all + "}"},
		{full, n(-1), false, head + "}"},
	} {
		got, err := c.r.JSON(c.history, c.artifacts)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestMergedArtifacts(t *testing.T) {
	doc := func(id string, more bool, body string) ArtifactDoc {
		return ArtifactDoc{ID: id, Append: more, JSON: []byte(`{"artifactId":"` + id + `",` + body + `}`)}
	}
	for name, c := range map[string]struct {
		docs []ArtifactDoc
		want string
	}{
		"text grows": {[]ArtifactDoc{
			doc("a", false, `"name":"n","parts":[{"text":"Hel"}]`), doc("a", true, `"parts":[{"text":"lo, "}]`), doc("a", true, `"parts":[{"text":""}]`)},
			`[{"artifactId":"a","name":"n","parts":[{"text":"Hello, "}]}]`},
		"other parts stay apart": {[]ArtifactDoc{
			doc("a", false, `"parts":[{"text":"x"},{"data":null}]`), doc("a", true, `"parts":[{"text":"y"},{"text":"z"}]`),
			doc("a", true, `"parts":[{"text":"w"},{"text":"q","mediaType":"text/html"}]`), doc("a", true, `"parts":[{"text":"r"}]`)},
			`[{"artifactId":"a","parts":[{"text":"x"},{"data":null},{"text":"y"},{"text":"zw"},{"text":"q","mediaType":"text/html"},{"text":"r"}]}]`},
		"heads merge": {[]ArtifactDoc{
			doc("a", false, `"parts":[{"text":"x"}],"metadata":{"k":1,"l":1},"extensions":["e"]`),
			doc("a", true, `"description":"d","parts":[{"text":"y"}],"metadata":{"l":9007199254740993},"extensions":["e","f"]`)},
			`[{"artifactId":"a","description":"d","parts":[{"text":"xy"}],"metadata":{"k":1,"l":9007199254740993},"extensions":["e","f"]}]`},
		"replaced in place": {[]ArtifactDoc{
			doc("a", false, `"parts":[{"text":"x"}]`), doc("b", false, `"parts":[{"text":"b"}]`), doc("a", true, `"parts":[{"text":"y"}]`),
			doc("a", false, `"parts":[{"text":"new"}]`), doc("a", true, `"parts":[{"text":"er"}]`)},
			`[{"artifactId":"a","parts":[{"text":"newer"}]},{"artifactId":"b","parts":[{"text":"b"}]}]`},
	} {
		got, err := Record{Status: []byte("{}"), Artifacts: c.docs}.JSON(nil, true)
		if err != nil || !strings.HasSuffix(string(got), `"artifacts":`+c.want+"}") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := (Record{Artifacts: []ArtifactDoc{{ID: "a", JSON: []byte("{}")}, {ID: "a", Append: true, JSON: []byte("{")}}}).JSON(nil, true); err == nil {
		t.Error("a damaged document passes")
	}
}

// What is written by hand reads as what the types would say, in any zone.
func TestStatusesAreAsTheTypesSay(t *testing.T) {
	east := time.Date(2026, 1, 2, 3, 4, 5, 60_000_000, time.FixedZone("", 3600))
	for _, msg := range []*a2a.Message{nil, {MessageID: "m", Role: a2a.RoleAgent}} {
		for _, state := range []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateAuthRequired, a2a.TaskStateCompleted} {
			want, err := json.Marshal(&a2a.TaskStatus{State: state, Message: msg, Timestamp: a2a.Timestamp{Time: east}})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := statusDoc(state, msg, east); err != nil || string(got) != string(want) {
				t.Errorf("%s %v\nwant %s", got, err, want)
			}
		}
	}
}
