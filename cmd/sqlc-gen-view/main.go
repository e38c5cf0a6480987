// Command sqlc-gen-view guards the queries. sqlc runs it as a process plugin, where it
// proves every statement scoped to one principal; with -view it writes the principal-bound
// View over what sqlc has written. sqlc.yaml names the lines to run.
package main

import (
	"flag"
	"fmt"
	"os"

	"a2aserve/impl/viewgen"
)

func main() {
	view := flag.Bool("view", false, "write the View instead of proving a request on standard input")
	raw := flag.String("raw", "gen/db/internal/raw", "`folder` of the package that sqlc wrote")
	path := flag.String("import", "a2aserve/gen/db/internal/raw", "import `path` of that package")
	out := flag.String("out", "gen/db/view.gen.go", "`file` to write")
	flag.Parse()
	var err error
	if *view {
		err = viewgen.WriteView(*raw, *path, *out)
	} else {
		err = viewgen.Plugin(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sqlc-gen-view:", err)
		os.Exit(1)
	}
}
