//go:build tools

// The lines that make generate runs, in order. The tools are pinned in tools/go.mod,
// so that what they need stays out of the product's go.mod:
//
//	protoc-gen-jsonschema  the protocol's descriptor to JSON Schema (run by specgen)
//	oapi-codegen           schemas and the OpenAPI document to Go (run by specgen)
//	sqlc                   queries/ to gen/db; sqlc.yaml has it prove each statement
//	staticcheck            run by make check

package a2aserve

//go:generate go run ./cmd/specgen protocol --proto=$PROTO
//go:generate go run ./cmd/specgen models --schema spec/events.schema.json --package event --out gen/event/event.gen.go --doc "is the vocabulary between the server and an agent: spec/events.schema.json says what each event means."
//go:generate go run ./cmd/specgen events --schema spec/events.schema.json --out docs/events.md
//go:generate go run ./cmd/specgen models --schema spec/nexus-agent-events.schema.json --package agentevents --out gen/agentevents/agentevents.gen.go --doc "holds the payload of the telemetry extension: spec/nexus-agent-events.schema.json says what each member means."
//go:generate go run ./cmd/specgen models --schema spec/agui.schema.json --package agui --out gen/agui/agui.gen.go --doc "holds the requests and events of AG-UI, as far as the server speaks it: spec/agui.schema.json says what each means."
//go:generate go run ./cmd/specgen models --schema spec/config.schema.json --package config --out gen/config/config.gen.go --doc "holds the types of the configuration: spec/config.schema.json says what each key means."
//go:generate go build -o bin/ ./cmd/sqlc-gen-view
//go:generate go tool -modfile=tools/go.mod sqlc generate
//go:generate bin/sqlc-gen-view -view
