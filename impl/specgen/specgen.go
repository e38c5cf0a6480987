// Package specgen turns the protocol's descriptor and the tables under spec/ into
// the schema, the OpenAPI document and the Go packages under gen/.
package specgen

// Options says what to read and where to write.
type Options struct {
	Root  string // the module's root: spec/ is read from it
	Out   string // where spec/ and gen/ are written; empty means Root
	Proto string // an a2a.proto to generate from instead of the pinned descriptor
	Tools Tools
}

func (o Options) out() string {
	if o.Out == "" {
		return o.Root
	}
	return o.Out
}
