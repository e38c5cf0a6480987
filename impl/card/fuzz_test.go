package card

import (
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/impl/decode"
)

// Anybody's card can be looked at: findings are in order, say something, and there is an
// error among them exactly when a reader that follows the schema would refuse the card.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{}`, `[`, `{"name":"a","description":"b","version":"1","supportedInterfaces":[{"url":"https://x","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"s","description":"s","tags":["t"]}]}`,
		`{"supportedInterfaces":[{"url":":"},7],"skills":{},"securitySchemes":{"a":{"httpAuthSecurityScheme":{"scheme":"bearer"}}},"securityRequirements":[{"schemes":{"b":{}}}],"name":"a","Name":"b","url":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		found := Check(doc)
		refused := false
		for i, x := range found {
			if x.Text == "" || x.Pointer != "" && !strings.HasPrefix(x.Pointer, "/") {
				t.Fatalf("%q: finding %d is %+v", doc, i, x)
			}
			if x.Level == Error && i > 0 && found[i-1].Level != Error {
				t.Fatalf("%q: errors come first, and finding %d is %+v", doc, i, x)
			}
			refused = refused || x.Level == Error
		}
		var card a2a.AgentCard
		if err := decode.Decode(decode.Input{Def: "AgentCard", JSON: doc}, &card); err != nil && !refused {
			t.Fatalf("%q has no error, and cannot be read: %v", doc, err)
		}
	})
}
