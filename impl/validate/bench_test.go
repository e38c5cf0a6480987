package validate_test

import (
	"strings"
	"testing"

	"a2aserve/impl/validate"
)

const benchDocument = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},` +
	`"artifacts":[{"artifactId":"a","parts":[{"text":"lorem ipsum dolor sit amet lorem ipsum dolor sit amet"},{"data":{"x":[1,2,3],"y":null}}]}],` +
	`"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello world"}]}]}` + "\n"

// BenchmarkLines is the common case of a long run: valid documents, one a line.
func BenchmarkLines(b *testing.B) {
	v, err := validate.New(validate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	const n = 1000
	text := strings.Repeat(benchDocument, n)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for r, err := range v.File("x.jsonl", strings.NewReader(text)) {
			if err != nil || !r.Valid {
				b.Fatal(r, err)
			}
		}
	}
}
