# `make` lists the targets. CI runs them one by one: see .ci/run.

# Programs that tests and lint need, kept outside the tree and shared by all
# clones. MinIO is AGPL and golangci-lint GPL: they are run, never linked, and
# stand in no go.mod.
CACHE         := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/calve
MINIO_VERSION := v0.0.0-20260212201848-7aac2a2c5b7c
MINIO         := $(CACHE)/bin/minio-20260212/minio
VERSITY_VERSION := 1.8.0
VERSITY       := $(CACHE)/bin/versitygw-$(VERSITY_VERSION)/versitygw
LINT_VERSION  := 2.15.0
LINT          := $(CACHE)/bin/golangci-lint-$(LINT_VERSION)/golangci-lint
PYTHON        := $(CACHE)/python
PYTHON_STAMP  := $(PYTHON)/requirements.txt
REQUIREMENTS  := testenv/py/requirements.txt
REST_SERVER   := $(CACHE)/lib/iceberg-rest-1.11.0-1

# Only for test-engines: Spark and Trino with what makes them read Iceberg, and
# SeaweedFS, a second REST catalog.
SPARK_VERSION := 4.1.4
SPARK         := $(CACHE)/spark-$(SPARK_VERSION)
SPARK_JARS    := org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0 org.apache.iceberg:iceberg-aws-bundle:1.12.0 \
	org.postgresql:postgresql:42.7.7
TRINO_VERSION := 476
TRINO         := $(CACHE)/trino-$(TRINO_VERSION)
SEAWEED_MODULE := github.com/seaweedfs/seaweedfs@v0.0.0-20261109003541-7506e5f91cd6
SEAWEED       := $(CACHE)/bin/seaweedfs-20261109/weed

# Pure Go, in all that is built and tested but the race detector, which needs
# cgo: then everything shares one build cache.
export CGO_ENABLED := 0

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
FUZZTIME ?= 20s
SOAK     ?= 30m
# The packages that start goroutines: only there can a race be; and tests in them
# that start programs, which have no race detector in them, or other engines.
RACE     := $(addsuffix /...,$(addprefix ./,$(wildcard arrowio lake testenv)))
RACELESS := ^Test(Kill|OneWindowTwice|StoppedProcess|Signals|SecondSignal|EveryWayOut|StdoutIsGone|SilentCatalog|Readers)

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: tools
tools: $(MINIO) $(VERSITY) $(REST_SERVER) python $(LINT) ## build what tests and lint need, where it is missing

# Built aside and moved in whole, so that an interrupted build leaves nothing,
# and two builds at once do not meet.
define install
	@mkdir -p '$(dir $@)'
	@dir=$$(mktemp -d) && echo "building $(1)" && \
		GOFLAGS= CGO_ENABLED=0 GOBIN=$$dir go install -trimpath '$(1)' && \
		mv -f "$$dir/$(notdir $@)" '$@' && rmdir "$$dir"
endef

$(MINIO):
	$(call install,github.com/minio/minio@$(MINIO_VERSION))

$(VERSITY):
	$(call install,github.com/versity/versitygw/cmd/versitygw@v$(VERSITY_VERSION))

$(LINT):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION))

# Iceberg's own REST catalog, a Java program that tests start: its name has
# Iceberg's version and our own, to be raised where testenv/java changes.
$(REST_SERVER):
	@mkdir -p '$(dir $@)'
	@dir=$$(mktemp -d) && echo "building $(notdir $@)" && cp -R testenv/java/. "$$dir" && \
		(cd "$$dir" && mvn -B -q -Dstyle.color=never package dependency:copy-dependencies -DoutputDirectory=lib && cp target/*.jar lib) && \
		{ [ -d '$@' ] || mv "$$dir/lib" '$@'; } && rm -rf "$$dir"

.PHONY: python
python: # DuckDB and PyIceberg, made anew where the versions changed
	@cmp -s $(REQUIREMENTS) '$(PYTHON_STAMP)' || { \
		echo "installing $(REQUIREMENTS)" && \
		{ [ -x '$(PYTHON)/bin/python' ] || python3 -m venv '$(PYTHON)'; } && \
		'$(PYTHON)/bin/python' -m pip install --quiet --disable-pip-version-check -r $(REQUIREMENTS) && \
		cp $(REQUIREMENTS) '$(PYTHON_STAMP)'; }

# copy puts the artifacts $(1) of Maven Central into the folder $(2).
copy = for artifact in $(1); do \
	mvn -B -q dependency:copy "-Dartifact=$$artifact" -DoutputDirectory=$(2) || exit 1; done

.PHONY: engines
engines: $(SPARK) $(TRINO) $(SEAWEED) # built aside and moved in whole, like the tools

$(SPARK):
	@dir=$$(mktemp -d) && echo "installing Spark $(SPARK_VERSION), 0.6 GB" && \
		python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir \
			--target "$$dir/python" 'pyspark==$(SPARK_VERSION)' && \
		$(call copy,$(SPARK_JARS),"$$dir/jars") && \
		mkdir -p '$(CACHE)' && mv "$$dir" '$@'

$(TRINO):
	@dir=$$(mktemp -d) && echo "installing Trino $(TRINO_VERSION), 0.6 GB" && \
		$(call copy,io.trino:trino-server-core:$(TRINO_VERSION):tar.gz io.trino:trino-iceberg:$(TRINO_VERSION):zip,"$$dir") && \
		tar -xzf "$$dir"/*.tar.gz -C "$$dir" && mkdir "$$dir/trino" && mv "$$dir"/trino-server-core-$(TRINO_VERSION)/* "$$dir/trino" && \
		python3 -m zipfile -e "$$dir"/*.zip "$$dir/zip" && mkdir -p "$$dir/trino/plugin" && mv "$$dir"/zip/* "$$dir/trino/plugin/iceberg" && \
		mkdir -p '$(CACHE)' && mv "$$dir/trino" '$@' && rm -rf "$$dir"

# Its go.mod replaces modules, which go install refuses: built in a copy.
$(SEAWEED):
	@mkdir -p '$(dir $@)'
	@dir=$$(mktemp -d) && echo "building SeaweedFS, 15 minutes of one core" && \
		(cd "$$dir" && GOFLAGS= go mod download $(SEAWEED_MODULE)) && \
		cp -R "$$(go env GOMODCACHE)/$(SEAWEED_MODULE)" "$$dir/src" && chmod -R u+w "$$dir/src" && \
		GOFLAGS=-mod=mod go -C "$$dir/src" build -ldflags '-s -w' -o "$$dir/weed" ./weed && \
		mv -f "$$dir/weed" '$@' && rm -rf "$$dir"

.PHONY: build
build: ## build bin/calve, one static file
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/calve ./cmd/calve

.PHONY: fmt
fmt: $(LINT) ## format all Go code
	$(LINT) fmt

.PHONY: fmt-check
fmt-check: ## fail where gofmt would change something
	@bad=$$(gofmt -l .); [ -z "$$bad" ] || { echo "not formatted (make fmt): $$bad" >&2; exit 1; }

.PHONY: tidy-check
tidy-check: ## fail where go mod tidy would change something
	go mod tidy -diff

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: $(LINT) ## golangci-lint, as .golangci.yml says
	$(LINT) run ./...

.PHONY: test
test: $(MINIO) $(VERSITY) $(REST_SERVER) python ## all tests
	go test -timeout 20m ./...

.PHONY: test-race
test-race: $(MINIO) $(VERSITY) $(REST_SERVER) python ## the tests of the packages that start goroutines, under the race detector; on the excerpt of the real data
	@echo 'not run here, for they start programs without a race detector: $(RACELESS)'
	CGO_ENABLED=1 go test -race -short -timeout 30m -skip '$(RACELESS)' $(RACE)

.PHONY: test-engines
test-engines: $(MINIO) $(REST_SERVER) python engines ## the tests on Spark, Trino and SeaweedFS too; 1.2 GB are installed first, Maven, Java 17 and 24 or later are needed
	CALVE_ENGINES=1 go test -timeout 60m -run 'Engine|Connect|Readers|^TestCase' ./testenv ./cmd/calve

.PHONY: soak
soak: $(MINIO) $(REST_SERVER) ## everything at once to one table for SOAK=30m: loads, kills, other writers, maintenance
	go test ./testenv -run '^TestSoak$$' -v -timeout 0 -soak '$(SOAK)'

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME=20s
	@grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do \
		for name in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$$file"); do \
			echo "$$name in $$(dirname "$$file")"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime '$(FUZZTIME)' "$$(dirname "$$file")" </dev/null || exit 1; \
		done || exit 1; \
	done

.PHONY: bench
bench: ## all benchmarks, with their allocations
	go test -run '^$$' -bench . -benchmem -timeout 60m ./...

.PHONY: demo
demo: build ## load three days, one of them again, one corrected: on the embedded catalog
	bash cmd/calve/demo/demo.sh

.PHONY: demo-minio
demo-minio: build $(MINIO) ## the same on a MinIO of its own
	MINIO='$(MINIO)' bash cmd/calve/demo/minio.sh --demo

.PHONY: minio
minio: $(MINIO) ## start a MinIO to play with, and print the calve.yaml for it
	MINIO='$(MINIO)' bash cmd/calve/demo/minio.sh

.PHONY: ci
ci: ## what CI runs
	.ci/run
