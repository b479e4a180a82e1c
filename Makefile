# make run        build the server and start it in development mode with a sample database
# make run-cluster  three members of etcd and three nodes on loopback
# make test       build and run all tests
# make test-release  run the tests that use no internal names against the modules of the release binary, with SECONDS (default 5) of simulated databases, and those that start the program with that binary
# make test-asan  run the tests with hostile input under the address sanitizer, for at most SANITIZED_SECONDS (default 1500)
# make test-tsan  run the tests of threads under the thread sanitizer, for as long
# make test-python  run the tests that use packages of PyPI (firebase-admin, functions-framework, an OpenID provider)
# make test-models  run the model tests of the settings and of queries with MODEL_SCALE times as many cases (default 50)
# make test-cluster  kill, pause and disconnect the processes of a cluster, and cut their power, for MINUTES (default 30)
# make build      build the release binary: .build/release/hearth
# make lint       check the formatting
# make smoke      start the release binary, use it once, see what memory large bodies cost, and count allocations
# make test-outside  build a package that depends on this one (Tests/Outside), and run it against the release binary
# make docs       build the documentation of HearthClient, HearthAdmin, HearthTesting, HearthHTTP and HearthSealing with DocC; warnings are errors
# make deb        build a Debian package with the Swift runtime in it: .build/packages
# make dist       the same program as a tarball with checksums
# make image      an image of the Debian package with buildah (see Containerfile)
# make test-image  build that image on a base of debootstrap's, and run it on a read-only root
# make installation-drill  package, clean root, image, proxies, Prometheus, backup and restore
# make quick-drill  the same with the release binary and without the image, for at most three minutes and one part more
# make test-proxies  run nginx, HAProxy and Caddy in front of the release binary
# make rolling-restart  restart the release binary behind HAProxy while the admin SDK for Python uses it
# make rolling-upgrade FROM=COMMIT  upgrade three nodes under load from the program of a commit, or of OLD=BINARY, and back
# make sizing     measure memory and files for docs/operating/sizing.md
# make scrape-cost  measure a scrape of /metrics with 1,024 databases
# make check-monitoring  check metrics, alert rules and dashboard with Prometheus
# make test-console  test the console of the release binary, and the page of Examples/Web, in a headless Chromium
# make fuzz-build  build the fuzz targets
# make fuzz       run every fuzz target for SECONDS (default 5) each
# make soak       honest and hostile clients together for MINUTES (default 30): see scripts/soak
# make bench      measure the release binary (see BENCHMARKS.md)
# make examples   run each example program with its own server (see Examples/README.md)
# make example-NAME  one of them with a server, and its data in data/: example-notebooks, example-todo, …
# make format     format the sources in place

SWIFT ?= swift
# Exclusive access is checked while tests run; in the release binary the checks at run time cost some per cent.
RELEASE = -c release -Xswiftc -cross-module-optimization -Xswiftc -enforce-exclusivity=unchecked
HEARTH = .build/release/hearth
SECONDS ?= 5
MINUTES ?= 30
SANITIZED_SECONDS ?= 1500
MODEL_SCALE ?= 50
MODELS = ConditionQueryTests|CompositeIndexTests|AggregateTests|UniqueTests|CounterTests|ChildLimitTests|ExpiryTests|ExpiredReadsTests|RateTableTests|QueueModelTests|HistoryModelTests|TriggerTests

.PHONY: .build/static/hearth run run-cluster test test-release test-asan test-tsan test-outside build lint test-console smoke deb dist image test-image installation-drill quick-drill
.PHONY: fuzz-build test-cluster test-python test-models test-proxies docs accept-api simulate
.PHONY: sizing rolling-restart rolling-upgrade scrape-cost check-monitoring fuzz soak bench examples format packages

run: build
	@$(HEARTH) serve --dev --data data --seed deploy/sample.json --rules deploy/sample-rules.json

run-cluster: build
	@scripts/install-etcd-for-tests
	@scripts/run-cluster $(HEARTH)

test: packages
	@scripts/install-etcd-for-tests
	@scripts/install-tools zsh:zsh fish:fish || echo 'their tests of completions will be skipped' >&2
	$(SWIFT) build --build-tests
	scripts/run-tests --parts $$($(SWIFT) build --show-bin-path)/hearthPackageTests.xctest

test-release: build
	HEARTH_SIMULATION_SECONDS=$(SECONDS) scripts/test-release $(SWIFT) $(RELEASE)

test-asan: packages
	scripts/test-sanitized address $(SWIFT) $(SANITIZED_SECONDS)

test-tsan: packages
	scripts/test-sanitized thread $(SWIFT) $(SANITIZED_SECONDS)

test-python: packages
	$(SWIFT) build --build-tests
	@python=$$(scripts/install-python-for-tests); [ -z "$$python" ] || HEARTH_PYTHON=$$python \
		scripts/run-tests $(SWIFT) test --skip-build --filter 'AdminSDKTests|FunctionsFrameworkTests|OpenIDProviderTests'

# 100,000 cases and more of each. Takes hours.
test-models: packages
	$(SWIFT) build --build-tests
	HEARTH_TEST_SCALE=$(MODEL_SCALE) scripts/run-tests $(SWIFT) test --skip-build --parallel --filter '$(MODELS)'

# As root, or there are no losses of power and full disks among the faults. Another seed each time, which it prints.
test-cluster: packages
	@scripts/install-etcd-for-tests
	$(SWIFT) build --build-tests
	HEARTH_CLUSTER_SECONDS=$$((60 * $(MINUTES))) scripts/run-tests $(SWIFT) test --skip-build --filter 'ClusterFaultTests|ClusterFailureTests'

build: packages
	$(SWIFT) build $(RELEASE) --product hearth

lint:
	$(SWIFT) format lint --recursive --parallel --strict Package.swift Sources Examples Tests Fuzz

test-console: build
	scripts/test-console $(HEARTH)

smoke: build
	scripts/smoke $(HEARTH)

# The release binary, stripped, for packages.
.build/static/hearth: build
	install -D -m 755 $(HEARTH) $@
	strip --strip-unneeded $@

test-outside: build
	scripts/test-outside $(HEARTH) $(SWIFT)

docs: packages
	scripts/docs $(SWIFT)

accept-api: packages
	scripts/docs $(SWIFT) --accept-api

deb: .build/static/hearth
	scripts/make-deb .build/static/hearth .build/packages

dist: .build/static/hearth
	scripts/make-dist .build/static/hearth .build/packages

image: deb
	cp .build/packages/hearth_*.deb hearth.deb
	buildah bud --tag hearth --format docker .
	rm hearth.deb

test-image: deb
	scripts/test-image .build/packages/hearth_*.deb

installation-drill: .build/static/hearth
	scripts/installation-drill

quick-drill: build
	scripts/installation-drill --quick $(HEARTH)

test-proxies: build
	scripts/test-proxies $(HEARTH)

rolling-restart: build
	scripts/rolling-restart $(HEARTH)

# The other program is built in a work tree below .build, which keeps what it has built.
UPGRADE = .build/upgrade
rolling-upgrade: build
	@[ -n "$(FROM)$(OLD)" ] || { echo 'usage: make rolling-upgrade FROM=COMMIT, or OLD=BINARY' >&2; exit 2; }
	@scripts/install-etcd-for-tests
	[ -n "$(OLD)" ] || [ -e $(UPGRADE)/.git ] || git worktree add --force --detach $(UPGRADE) $(FROM)
	[ -n "$(OLD)" ] || git -C $(UPGRADE) checkout --detach $(FROM)
	[ -n "$(OLD)" ] || (cd $(UPGRADE) && $(SWIFT) build $(RELEASE) --product hearth)
	scripts/rolling-upgrade $(or $(OLD),$(UPGRADE)/$(HEARTH)) $(HEARTH) $(OPTIONS)

sizing: build
	scripts/sizing $(HEARTH)

scrape-cost: build
	scripts/scrape-cost $(HEARTH)

check-monitoring: build
	scripts/check-monitoring $(HEARTH)

# So many seconds of simulated databases, with other seeds each time; a failure names its seed.
simulate: packages
	$(SWIFT) build --build-tests
	HEARTH_SIMULATION_SECONDS=$(SECONDS) scripts/run-tests $(SWIFT) test --skip-build --filter DatabaseSimulationTests/longRun

fuzz-build: packages
	Fuzz/build

fuzz: packages
	Fuzz/run $(SECONDS)

soak: build
	scripts/soak $(HEARTH) --minutes $(MINUTES)

bench: build
	$(HEARTH) bench all

examples: packages
	$(SWIFT) build $(RELEASE)
	scripts/examples .build/release

example-%: packages
	$(SWIFT) build $(RELEASE)
	@scripts/example .build/release $*

format:
	$(SWIFT) format --recursive --parallel --in-place Package.swift Sources Examples Tests Fuzz

packages:
	@scripts/install-packages
