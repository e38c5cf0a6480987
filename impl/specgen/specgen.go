// Package specgen turns the protocol's descriptor and the tables under spec/ into
// the schema, the OpenAPI document and the Go packages under gen/.
package specgen

// Options says what to read and where to write.
type Options struct {
	// Root is the module's root; spec/ is read from it.
	Root string
	// Out is where spec/ and gen/ are written; empty means Root.
	Out string
	// Proto is an a2a.proto to generate from; empty means the pinned descriptor.
	Proto string
	Tools Tools
}

// out is the folder that is written to.
func (o Options) out() string {
	if o.Out == "" {
		return o.Root
	}
	return o.Out
}
