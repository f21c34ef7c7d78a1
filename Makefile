# Penstock. `make` lists what can be done.

GO      ?= go
BIN     := bin/penstock
LDFLAGS := -s -w
TOOLS   := -modfile=scripts/tools/go.mod

# Packages are compiled without the path of the checkout, so that all checkouts on a machine share the build cache.
export GOFLAGS := $(GOFLAGS) -trimpath

.DEFAULT_GOAL := help
.PHONY: help run demo build web screenshots release quick test lint manifests vuln soak bench clean setup docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## build and start the embedded default (penstock dev)
	@GO='$(GO)' scripts/need-go
	@test -x $(BIN) || echo 'Building Penstock. The first build downloads and compiles its dependencies, which takes a minute or two.'
	@test ! -x $(BIN) || echo 'Building Penstock.'
	@{ CGO_ENABLED=0 $(GO) build -v -buildvcs=auto -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/penstock 2>&1; echo "exit $$?"; } | scripts/progress
	@$(BIN) dev

demo: build ## start penstock dev --demo: a month of invented work to look at, in ./penstock-demo
	@$(BIN) dev --demo

build: ## build bin/penstock
	@GO='$(GO)' scripts/need-go
	@CGO_ENABLED=0 $(GO) build -buildvcs=auto -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/penstock

web: ## build the pages of the console from web/ into internal/console/dist; needs Node.js
	@scripts/web

screenshots: build ## pictures of every page over the demo, light and dark: web/screenshots/, and docs/images/console/ for the docs
	@PENSTOCK_BIN='$(CURDIR)/$(BIN)' scripts/screenshots

release: ## build the archives of a release in dist/, with checksums and bills of materials (CycloneDX)
	@$(GO) run ./scripts/release

quick: lint ## what to run while working: short tests, a minute at the most, installs nothing
	@$(GO) test -short ./...

test: setup lint ## all tests, on SQLite and on a real PostgreSQL, with the real binary; what CI runs
	@PENSTOCK_REQUIRE_POSTGRES=1 PENSTOCK_REQUIRE_NODE=1 PENSTOCK_REQUIRE_BROWSER=1 PENSTOCK_REQUIRE_PYTHON=1 scripts/test

lint: ## formatting, vet and staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
		if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@$(GO) vet ./...
	@$(GO) tool $(TOOLS) staticcheck ./...

manifests: ## hold Dockerfile, compose.yaml, Helm chart, alerts and dashboards against the linters of their programs
	@cd deploy/check && $(GO) vet ./... && $(GO) test -timeout 5m ./...

vuln: ## known vulnerabilities in the code that the binary reaches; needs https://vuln.go.dev
	@$(GO) tool $(TOOLS) govulncheck ./... || { rc=$$?; \
		echo "govulncheck ended with $$rc. It downloads its database from https://vuln.go.dev; without a network it cannot check anything."; exit $$rc; }

soak: setup ## long tests: kill loops, limits, large batches, sick targets, SDK bursts, attacks, fuzzing (hours)
	@PENSTOCK_FORECAST_WHOLE=1 $(GO) test ./internal/forecast -run Docs -count=1 -v
	@PENSTOCK_SOAK_SICK=$${SICK:-10000} $(GO) test ./internal/e2e -run 'TestOneSick' -count=1 -v
	@PENSTOCK_SOAK_READERS=$${READERS:-2000} $(GO) test ./internal/e2e -run TestReadersOfStreamsAgree -count=1 -v
	@PENSTOCK_SOAK_LINES=$${LINES:-1000000} $(GO) test ./internal/e2e -run TestLargeBatch -count=1 -timeout 2h -v
	@PENSTOCK_REQUIRE_POSTGRES=1 PENSTOCK_SOAK_MINUTES=3 $(GO) test ./internal/e2e -run 'TestCallersKeepTheirLimit|TestLimitsAreUsed' -count=1 -timeout 1h -v
	@PENSTOCK_REQUIRE_NODE=1 PENSTOCK_SOAK_CALLS=$${CALLS:-10} $(GO) test ./internal/e2e -run 'TestSDKBurst' -count=1 -timeout 30m -v
	@PENSTOCK_REQUIRE_POSTGRES=1 PENSTOCK_SOAK_KILLS=$${KILLS:-300} $(GO) test ./internal/e2e -run 'TestCrash' -count=1 -timeout 3h -v
	@PENSTOCK_REQUIRE_POSTGRES=1 PENSTOCK_SOAK_KILLS=$${ORDINARY_KILLS:-200} $(GO) test ./internal/e2e -run 'TestKillsFailNoOrdinaryWork' -count=1 -timeout 2h -v
	@PENSTOCK_REQUIRE_POSTGRES=1 PENSTOCK_SOAK_KILLS=$${BUDGET_KILLS:-100} $(GO) test ./internal/e2e -run 'TestBudgetHoldsThroughCrashes' -count=1 -timeout 1h -v
	@PENSTOCK_REQUIRE_POSTGRES=1 PENSTOCK_SOAK_ATTACK=$${ATTACK:-5m} $(GO) test ./internal/e2e -run 'TestAttack|TestIsolation' -count=1 -timeout 2h -v
	@scripts/fuzz $${FUZZ:-20s}

bench: setup build ## measurements, beside what they are judged by; about 40 minutes
	@cd bench && echo 'one sample after the other:' && $(GO) run ./accept
	@cd bench && echo 'with 150 ms of rest between samples:' && $(GO) run ./accept -samples 200 -silence 150ms
	@cd bench && $(GO) build -o ../bin/bench-queue ./queue
	@bin/bench-queue throughput
	@bin/bench-queue throughput -mode burn -rounds 1
	@bin/bench-queue submit -penstock '$(BIN)'
	@bin/bench-queue embedded
	@bin/bench-queue pickup -rounds 2
	@bin/bench-queue claim
	@bin/bench-queue fair
	@bin/bench-queue urgent
	@PENSTOCK_BIN='$(CURDIR)/$(BIN)' scripts/bench-lists
	@cd bench && $(GO) build -o ../bin/bench-gateway ./gateway && ../bin/bench-gateway

docs: ## write the parts of docs/ that are made from the code
	@$(GO) test . ./internal/config ./internal/telemetry ./cmd/penstock -run Reference -update
	@$(GO) test ./internal/api -run 'OpenAPI|Docs' -update
	@PENSTOCK_FORECAST_WHOLE=1 $(GO) test ./internal/forecast -run Docs -update
	@$(GO) test ./internal/e2e -run 'TestSDKMatrix$$' -update

setup: ## install what the tests need and the machine lacks (PostgreSQL, Node.js, Chromium, Python, nginx, Caddy)
	@scripts/setup

clean: ## remove what was built
	@rm -rf bin dist
