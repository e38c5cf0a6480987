package config

// agui checks agent.agui and reads the agent's token and the secret of its control link. A
// variable that is named but not set is a mistake: the agent would be asked without the
// token and refuse every turn.
func (d *document) agui() (token, control Secret) {
	driver, has := d.text("/agent/driver"), d.has("/agent/agui")
	switch {
	case driver == "agui" && !has:
		d.problem("/agent/agui", "required for driver agui, but missing: where the agent is, as url")
	case driver != "agui" && has && driver != "":
		d.problem("/agent/agui", "belongs to driver agui, and this one is %s", driver)
	}
	d.checkControl()
	return Secret{d.fromEnv("/agent/agui/token_env")}, Secret{d.fromEnv("/agent/agui/control/secret_env")}
}

// checkControl keeps the control link where its secret is safe. It stops whatever turn is
// active at the agent, which is the right one only where there is one at a time.
func (d *document) checkControl() {
	if !d.has("/agent/agui/control") {
		return
	}
	if d.text("/agent/agui/sessions") == "per_context" {
		d.problem("/agent/agui/control", "needs sessions: single, for a cancellation would stop other contexts' turns")
	}
	if bind := d.text("/agent/agui/control/bind"); isHostPort(bind) && !Loopback(bind) && lookup(d.root, "/agent/agui/control/allow_remote") != true {
		d.problem("/agent/agui/control/bind", "%q is an address that other machines reach, and the link is not encrypted: use a loopback one, such as \"127.0.0.1:8092\", or set agent.agui.control.allow_remote", bind)
	}
}
