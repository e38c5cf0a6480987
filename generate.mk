# Generation: spec/, gen/ and docs/events.md from the pinned descriptor, the tables under spec/ and
# the statements under queries/. tools.go has the steps. Nothing needs the network
# once the modules are there.

.PHONY: generate generate-check spec-diff

generate: ## write spec/, gen/ and docs/events.md (PROTO=path/a2a.proto: from that file instead of the pinned descriptor)
	@PROTO='$(PROTO)' $(GO) generate -tags tools tools.go

# The copy starts without generated files, so that one that is no longer generated,
# or never was, counts as a difference too.
generate-check: ## generate into a copy and fail on any difference, untracked files included
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	cp -R go.mod go.sum tools tools.go sqlc.yaml cmd impl queries spec Makefile generate.mk "$$copy" && \
	(cd "$$copy" && rm -f spec/a2a.schema.json spec/openapi.json spec/REVISION) && \
	$(MAKE) --no-print-directory -C "$$copy" generate PROTO= && \
	diff -r spec "$$copy/spec" && diff -r gen "$$copy/gen" && diff docs/events.md "$$copy/docs/events.md" && echo "generated files are up to date"

# Compares with what spec/REVISION names; after a go get of the module, PROTO and MODULE
# can be left out.
spec-diff: ## say what a revision does before it is applied (PROTO=path/a2a.proto or MODULE=v2.x.y; FROM=the old one; FORMAT=json)
	@$(GO) run ./cmd/specgen diff --proto='$(PROTO)' --module='$(MODULE)' --from='$(FROM)' --format='$(or $(FORMAT),text)'
