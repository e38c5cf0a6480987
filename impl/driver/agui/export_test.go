package agui

// Linked reports whether the agent's control link is open.
func (d *Driver) Linked() bool { return d.link.open() != nil }
