package config

// agui checks agent.agui and reads the agent's token. A variable that is named but not set
// is a mistake: the agent would be asked without the token and refuse every turn.
func (d *document) agui() Secret {
	driver, has := d.text("/agent/driver"), d.has("/agent/agui")
	switch {
	case driver == "agui" && !has:
		d.problem("/agent/agui", "required for driver agui, but missing: where the agent is, as url")
	case driver != "agui" && has && driver != "":
		d.problem("/agent/agui", "belongs to driver agui, and this one is %s", driver)
	}
	return Secret{d.fromEnv("/agent/agui/token_env")}
}
