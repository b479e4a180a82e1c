import Glibc
import HearthClient
import Synchronization

/// Small writes and reads of a program that uses `HearthClient`, compared with the same requests as ready-made frames
/// over one connection; the client also over TLS.
struct ClientBenchmark {
    let stage: Stage

    private enum Kind: String, CaseIterable {
        case frames = "ready-made frames"
        case client = "HearthClient"
        case clientOverTLS = "HearthClient over TLS"
    }

    private enum Work: String, CaseIterable {
        case writes, reads
    }

    func results() throws(BenchError) -> [BenchResult] {
        guard stage.settings.url == nil else { throw BenchError("client needs a server of its own, not --url") }
        let authority = try TemporaryFolder(in: stage.settings.folder)
        try TargetProcess.run(["cluster", "certificates", authority.path, "bench=127.0.0.1"])
        var results: [BenchResult] = []
        for work in Work.allCases { results.append(try result(of: work, authority.path)) }
        return results
    }

    private func result(of work: Work, _ authority: String) throws(BenchError) -> BenchResult {
        let settings = stage.settings
        var measurements = Kind.allCases.map { _ in [Measurement]() }
        for round in 0..<settings.rounds {
            let order = Array(Kind.allCases.enumerated())
            // None always comes first.
            for (index, kind) in round.isMultiple(of: 2) ? order : order.reversed() {
                measurements[index].append(try measure(work, kind, authority))
            }
        }
        func overFrames(_ index: Int) -> [Finding] {
            let name = Kind.allCases[index].rawValue
            return [
                .ratio("\(work) per second, \(name) over frames", measurements[index], over: measurements[0], nil) {
                    $0.rate
                }
            ]
        }
        return BenchResult(
            benchmark: "client", title: "\(work) of one client, \(settings.inFlight) in flight",
            parameters: [
                ("object", "60 bytes"), ("durability", settings.durability), ("rounds", "\(settings.rounds)"),
                ("seconds", Numeral.fixed(settings.seconds, 0)),
            ],
            runs: zip(Kind.allCases, measurements).map { .init(target: $0.rawValue, unit: "\(work)", rounds: $1) },
            findings: overFrames(1) + overFrames(2))
    }

    private func measure(_ work: Work, _ kind: Kind, _ authority: String) throws(BenchError) -> Measurement {
        let settings = stage.settings
        let isSecure = kind == .clientOverTLS
        let actor = try stage.server(
            certificate: isSecure ? ("\(authority)/bench.pem", "\(authority)/bench-key.pem") : nil)
        defer { actor.leave() }
        var probe = UsageProbe(actor.target)
        if kind == .frames {
            let load = try WebSocketLoad(actor.target)
            try load.open(1)
            // The read values are written first.
            var writes = RequestLoad(load, ObjectSets(isFloor: false), inFlight: settings.inFlight)
            if work == .writes {
                return try writes.run(.seconds(settings.seconds, warmUp: settings.warmUp), &probe)
            }
            var bulk = try BulkLoad(actor.target)
            try bulk.update("/bench/\(ObjectSets.keyBase)", [ObjectGets.objects()])
            var reads = RequestLoad(load, ObjectGets(isFloor: false), inFlight: settings.inFlight)
            return try reads.run(.seconds(settings.seconds, warmUp: settings.warmUp), &probe)
        }
        var options = DatabaseOptions()
        options.certificateAuthorityFile = isSecure ? "\(authority)/ca.pem" : nil
        let client = try ClientLoad(
            "\(isSecure ? "wss" : "ws")://127.0.0.1:\(actor.target.address.port)", options, isReading: work == .reads)
        return try client.run(
            inFlight: settings.inFlight, seconds: settings.seconds, warmUp: settings.warmUp, &probe)
    }
}

/// Keeps requests of one client in flight: each completion makes the next request.
private final class ClientLoad: Sendable {
    private struct State {
        var next = 0
        var outstanding = 0
        var count = 0
        var latency = LatencyHistogram()
        var isStopping = false
        var failure: DatabaseError?
    }

    private let database: Database
    private let place: DatabaseReference
    private let isReading: Bool
    private let state = Mutex(State())

    init(_ url: String, _ options: DatabaseOptions, isReading: Bool) throws(BenchError) {
        do throws(DatabaseError) {
            database = try Database(url: url, options: options)
        } catch { throw BenchError("\(error)") }
        place = database.reference(withPath: "bench/\(ObjectSets.keyBase)")
        self.isReading = isReading
    }

    deinit { database.goOffline() }

    func run(
        inFlight: Int, seconds: Double, warmUp: Double, _ probe: inout UsageProbe
    ) throws(BenchError) -> Measurement {
        try fill()
        for _ in 0..<inFlight { goOn() }
        try wait(warmUp, &probe)
        state.withLock {
            $0.count = 0
            $0.latency = LatencyHistogram()
        }
        probe.begin(at: Clock.now)
        try wait(seconds, &probe)
        let measurement = state.withLock { probe.measurement(operations: $0.count, latency: $0.latency) }
        state.withLock { $0.isStopping = true }
        try wait { $0.outstanding == 0 }
        return measurement
    }

    /// Writes the values to read.
    private func fill() throws(BenchError) {
        let start = begin()
        let objects = (0..<ObjectSets.keys).map { ("\(ObjectSets.keyBase + $0)", object(RequestNumber.base)) }
        place.setValue(DatabaseValue.object(Dictionary(uniqueKeysWithValues: objects))) { [weak self] error, _ in
            self?.completed(error, since: start)
        }
        try wait { $0.outstanding == 0 }
    }

    private func object(_ number: Int) -> DatabaseValue {
        ["id": .int(Int64(number)), "name": "hearth-bench", "ok": true, "x": 0.0625]
    }

    private func goOn() {
        guard let index = state.withLock({ $0.isStopping ? nil : $0.next }) else { return }
        if isReading { read(index) } else { write(index) }
    }

    private func write(_ index: Int) {
        let start = begin()
        let key = "\(ObjectSets.keyBase + index % ObjectSets.keys)"
        place.child(key).setValue(object(RequestNumber.base + index)) { [weak self] error, _ in
            self?.completed(error, since: start)
            self?.goOn()
        }
    }

    private func read(_ index: Int) {
        let start = begin()
        // 617 has no factor in common with 1000, so every key has its turn.
        let key = "\(ObjectSets.keyBase + index &* 617 % ObjectSets.keys)"
        place.child(key).getData { [weak self] error, _ in
            self?.completed(error, since: start)
            self?.goOn()
        }
    }

    private func begin() -> Int64 {
        state.withLock {
            $0.next += 1
            $0.outstanding += 1
        }
        return Clock.now
    }

    private func completed(_ error: DatabaseError?, since start: Int64) {
        state.withLock {
            $0.outstanding -= 1
            $0.count += 1
            $0.latency.add(nanoseconds: Clock.now - start)
            $0.failure = $0.failure ?? error
        }
    }

    private func wait(until condition: (State) -> Bool) throws(BenchError) {
        while true {
            let (isDone, failure) = state.withLock { (condition($0), $0.failure) }
            if let failure { throw BenchError("HearthClient failed: \(failure)") }
            if isDone { return }
            usleep(1000)
        }
    }

    private func wait(_ seconds: Double, _ probe: inout UsageProbe) throws(BenchError) {
        let end = Clock.now + Int64(seconds * 1e9)
        while Clock.now < end {
            if let failure = state.withLock({ $0.failure }) { throw BenchError("HearthClient failed: \(failure)") }
            probe.sample(at: Clock.now)
            usleep(10_000)
        }
    }
}
