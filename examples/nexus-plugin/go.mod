module a2aserve/examples/nexus-plugin

go 1.26.0

require (
	a2aserve v0.0.0
	github.com/frankbardon/nexus v0.18.1
)

// The server's module is the one that this folder lies in.
replace a2aserve => ../..
