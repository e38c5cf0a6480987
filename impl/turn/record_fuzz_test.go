package turn

import (
	"testing"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A stored task whose artifact came in chunks is put together into a valid document with each
// artifact once, or is an error; ids may hold anything.
func FuzzRecord(f *testing.F) {
	f.Add("t", `{"artifactId":"a","parts":[{"text":"x"}]}`, `{"artifactId":"a","parts":[{"text":"y"}],"metadata":{"k":null}}`, int32(1))
	f.Add("\xff\"", `{"artifactId":"a","parts":[{"data":{"a":[1]}}]}`, `{"artifactId":"a","parts":[{"raw":"AA=="},{"text":""}]}`, int32(-1))
	f.Add("", `{}`, `[]`, int32(0))
	f.Fuzz(func(t *testing.T, id, first, second string, history int32) {
		for _, s := range []string{first, second} {
			if !jsontext.Value(s).IsValid() { // nothing else gets into a store
				return
			}
		}
		r := Record{ID: id, ContextID: id, State: a2a.TaskStateWorking, Status: []byte(`{"state":"TASK_STATE_WORKING"}`),
			History: [][]byte{[]byte(`{"messageId":"m"}`), []byte(`{"messageId":"n"}`)},
			Artifacts: []ArtifactDoc{
				{ID: "a", JSON: []byte(first)}, {ID: "a", Append: true, JSON: []byte(second)}, {ID: "b", JSON: []byte(first)},
			}}
		doc, err := r.JSON(&history, true)
		if err != nil {
			return
		}
		var got struct {
			Artifacts []jsontext.Value `json:"artifacts"`
			History   []jsontext.Value `json:"history"`
		}
		if err := json.Unmarshal(doc, &got, jsontext.AllowDuplicateNames(true)); err != nil {
			t.Fatalf("%v in %q", err, doc)
		}
		if len(got.Artifacts) != 2 || len(got.History) != min(2, max(0, int(history))) {
			t.Fatalf("%q", doc)
		}
	})
}
