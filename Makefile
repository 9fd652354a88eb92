SHELL       := bash
.SHELLFLAGS := -euo pipefail -c

TEST_NEEDS  := gcc redis-server nginx haproxy
BENCH_NEEDS := nginx redis-server
FUZZTIME    ?= 10s
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The linter is built once for each version of it and of Go.
TOOLS := $(CURDIR)/.cache/bin/$(shell go env GOVERSION)
LINT  := $(TOOLS)/golangci-lint

.PHONY: help run build test need race fmt lint fuzz bench campaign cover clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

run: build ## start the gateway of examples/quickstart.yaml
	bin/stint serve -c examples/quickstart.yaml

build: ## bin/stint
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/stint ./cmd/stint

test: need lint race ## all that must pass before a commit
	go test ./...
	scripts/test386 . ./algo ./memstore
	scripts/modules . go vet ./...
	scripts/modules examples go test ./...

need: ## install what the tests need, or say what is missing
	@scripts/need $(TEST_NEEDS)

race: need ## every test under the race detector
	go test -race ./...

fmt: $(LINT) ## write every Go file in its form
	$(LINT) fmt

lint: $(LINT) ## formatting, vet and static analysis
	$(LINT) fmt --diff
	go vet ./... ./redisstore/testdata/worker
	go vet -tags releases ./redisstore
	$(LINT) run ./...

fuzz: ## every fuzz target for FUZZTIME
	scripts/fuzz $(FUZZTIME)

bench: build ## Stint beside other libraries, the gateway beside nginx
	scripts/need $(BENCH_NEEDS)
	cd bench && go run ./memory && go run ./middleware && go run ./gateway && go run ./redis && go run ./service

campaign: ## search longer, for half an hour at most
	scripts/campaign

cover: ## how much of the code the tests run
	mkdir -p .cache && go test -coverpkg ./... -coverprofile .cache/cover.out ./...
	go tool cover -func .cache/cover.out | tail -n 1

clean: ## remove what was built
	rm -rf bin .cache

$(LINT): tools/go.mod tools/go.sum
	cd tools && GOBIN=$(TOOLS) go install tool
	touch $@
