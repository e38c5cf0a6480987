package app

import (
	"fmt"
	"strings"

	"a2aserve/impl/card"
)

// Banner says what is served where, with a line to try.
func (a *App) Banner() string {
	g := a.current.Load()
	url := g.url()
	// The line can be pasted into a shell as it is.
	header := ""
	if _, bearer := g.ways(); bearer {
		header = " \\\n    -H 'Authorization: Bearer YOUR-TOKEN'"
	}
	return fmt.Sprintf("a2aserve serves agent %q (A2A 1.0)\n\n%s", g.card.Name(), g.table(a.listener.Addr().String(), a.store.Path())) +
		fmt.Sprintf("\nTry it:\n  curl -s %s%s/message:send%s \\\n    -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' \\\n"+
			"    -d '{\"message\":{\"messageId\":\"m1\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"echo Hello!\"}]}}'\n", url, g.cfg.RESTPrefix, header)
}

// table is what the banner and a check say of a configuration.
func (g *generation) table(listened, database string) string {
	who := "off: everybody who reaches the address may call"
	if ways, _ := g.ways(); len(ways) > 0 {
		who = strings.Join(ways, ", ")
	}
	var b strings.Builder
	url := g.url()
	for _, line := range [][2]string{
		{"Agent Card", url + card.Path},
		{"JSON-RPC", url + g.cfg.JSONRPCPath},
		{"HTTP+JSON", url + g.cfg.RESTPrefix},
		{"Listening on", listened},
		{"Authentication", who},
		{"Tasks kept in", database},
	} {
		fmt.Fprintf(&b, "  %-15s %s\n", line[0], line[1])
	}
	return b.String()
}
