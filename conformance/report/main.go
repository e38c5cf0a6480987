// Report writes docs/conformance.md from conformance/requirements.yaml. It is run in the
// root of the repository, by make report.
package main

import (
	"fmt"
	"os"

	"a2aserve/conformance/ledger"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	l, err := ledger.Load("conformance/requirements.yaml")
	if err != nil {
		return err
	}
	divergences, err := os.ReadFile("spec/DIVERGENCES.md")
	if err != nil {
		return err
	}
	return os.WriteFile("docs/conformance.md", []byte(l.Render(ledger.Topics(divergences))), 0o644)
}
