# a2aserve: make run serves the demo agent, make check runs all tests.
GO       ?= go
TOOL      = $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 10m
TORTURE  ?= Killed|Disk|SlowReader|NeverReads|Vanish|Flood|ClockSteps|Shortened|ManySubscribers|Growth

.PHONY: help run build check fmt vet staticcheck test interop report soak torture fuzz fuzz-short bench clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

run: ## serve the demo agent on SQLite, without configuration
	$(GO) run ./cmd/a2aserve serve

build: ## build bin/a2aserve
	$(GO) build -trimpath -o bin/a2aserve ./cmd/a2aserve

check: generate-check fmt vet staticcheck test ## all that must hold before a change lands

fmt:
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi

vet:
	$(GO) vet ./...
	cd bench && $(GO) vet ./...

staticcheck:
	$(TOOL) staticcheck ./...

# The race detector is for this module's code, and SQLite, which is translated from C, takes a
# third of the time under it: its memory lies where the detector does not look, and its mutexes
# guard nothing of ours. The checks of its pointer arithmetic, which come with -race, are left out
# for it as well. Only lib: an uninstrumented copy of a generic would serve other packages, too.
# Each process would also wait for a second before it exits, for races of goroutines that are left.
# Vetting again is left out: vet says more.
export GORACE = atexit_sleep_ms=10
RACE = -race '-gcflags=modernc.org/...=-d=checkptr=0' '-gcflags=modernc.org/sqlite/lib=-race=false -d=checkptr=0'

test: vet ## the tests, house rules and conformance vectors among them
	$(GO) test $(RACE) -vet=off -shuffle=on -timeout 20m ./...

interop: ## other people's clients: Go, ADK, JavaScript (Node.js 20 and npm), a browser (Chromium)
	@if command -v npm >/dev/null; then cd conformance/interop/js && \
	  npm install --silent --no-package-lock --no-audit --no-fund --no-update-notifier --omit=peer --ignore-scripts; fi
	cd conformance/interop && $(GO) vet ./... && $(GO) tool -modfile=../../tools/go.mod staticcheck ./... && \
	  $(GO) test -shuffle=on -timeout 10m ./...

report: ## write docs/conformance.md from conformance/requirements.yaml
	$(GO) run ./conformance/report

soak: ## proxies and loads in real time and real amounts, about 5 minutes (not part of check)
	A2ASERVE_SOAK=1 $(GO) test -count=1 -v -timeout 60m -run 'ThroughNginx|HostileTraffic|MemoryComesBack' ./conformance

torture: ## kills, full and slow disks, floods, rude clients and a whole day in real amounts, about 12 minutes (check has a short form)
	A2ASERVE_TORTURE=1 $(GO) test -count=1 -v -timeout 120m -run '$(TORTURE)' ./conformance

# One after another, so that each has all processors; what a find is cut down to is bounded
# since that may otherwise take all the time. Go's own end of the time fails a target now and
# then (golang/go#75804): without a find, and with "context deadline exceeded" for a message.
fuzz: ## each fuzz target for FUZZTIME, 10 minutes unless it is set (not part of check)
	@out=$$(mktemp); trap 'rm -f "$$out"' EXIT; \
	grep -roE --include='*_test.go' '^func Fuzz[A-Za-z]+' . | sed -E 's|/[^/]*:func | |' | sort | while read p f; do \
	  echo "== $$p $$f"; \
	  { $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s $$p </dev/null 2>&1 || echo "failed: $$f"; } | tee "$$out"; \
	  grep -q "^failed: $$f\$$" "$$out" || continue; \
	  if grep -qE '^ +context deadline exceeded$$' "$$out" && ! grep -qE 'Failing input|panic:|DATA RACE' "$$out"; then \
	    echo "$$f: no find; its time ended in the middle of an input"; continue; fi; \
	  exit 1; \
	done

fuzz-short: ## each fuzz target for a minute, about 25 minutes
	@$(MAKE) --no-print-directory fuzz FUZZTIME=60s

bench: ## hold the server against the official Go SDK and write docs/performance.md, about 20 minutes (not part of check)
	cd bench && $(GO) run . -json results.json -page ../docs/performance.md

clean:
	rm -rf bin

include generate.mk
