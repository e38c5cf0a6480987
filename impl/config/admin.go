package config

// checkAdmin keeps metrics and health from other machines unless they are meant for them:
// they are served without authentication.
func (d *document) checkAdmin() {
	bind := d.text("/admin/bind")
	if bind == "" || !isHostPort(bind) {
		return
	}
	if !Loopback(bind) && lookup(d.root, "/admin/allow_remote") != true {
		d.problem("/admin/bind", "%q is an address that other machines reach, and nobody is asked who they are there: use a loopback one, such as \"127.0.0.1:9091\", or set admin.allow_remote", bind)
	}
}
