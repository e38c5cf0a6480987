package agui

import "net/http"

// Linked reports whether the agent's control link is open.
func (d *Driver) Linked() bool { return d.link.open() != nil }

// Through sends runs through a transport of the test's.
func (d *Driver) Through(t http.RoundTripper) { d.client.Transport = t }
