/// Starts the targets of a benchmark, each in a fresh process with fresh data, and compares their results.
struct Stage {
    let settings: BenchSettings

    /// A target with the objects that must live as long as it.
    struct Actor {
        let target: Target
        let process: TargetProcess?
        private let folder: TemporaryFolder?

        init(_ target: Target, process: TargetProcess? = nil, folder: TemporaryFolder? = nil) {
            self.target = target
            self.process = process
            self.folder = folder
        }

        /// Ends the process before its folder goes.
        func leave() { process?.stop() }
    }

    /// The server to measure: a new process, or the one that runs already.
    ///
    /// - parameters:
    ///   - data: a data folder that stays; nil for one that goes with the actor.
    ///   - certificate: speaks TLS with this certificate and key, which are PEM files.
    func server(
        data: String? = nil, durability: String? = nil, rules: String? = nil, hearthSettings: String? = nil,
        certificate: (chain: String, key: String)? = nil
    ) throws(BenchError) -> Actor {
        if let url = settings.url { return try runningServer(url) }
        let folder = data == nil ? try TemporaryFolder(in: settings.folder) : nil
        let arguments =
            [
                "serve", "--dev", "--listen", "127.0.0.1:0", "--data", data ?? folder?.path ?? "",
                "--durability", durability ?? settings.durability, "--log-level", "warning",
            ] + (rules.map { ["--rules", $0] } ?? []) + (hearthSettings.map { ["--settings", $0] } ?? [])
            + (certificate.map { ["--tls-cert", $0.chain, "--tls-key", $0.key] } ?? [])
        let process = try TargetProcess(.hearth, arguments: arguments, cpu: settings.cpus?.target)
        return Actor(process.target, process: process, folder: folder)
    }

    /// The server that runs already, with nothing left of earlier runs.
    private func runningServer(_ url: String) throws(BenchError) -> Actor {
        guard let address = IPv4Address(url) else {
            throw BenchError("not of the form ws://127.0.0.1:9000: \(url)")
        }
        let target = Target(kind: .hearth, address: address, process: settings.process, cpu: nil)
        var bulk = try BulkLoad(target)
        try bulk.remove("/bench")
        return Actor(target)
    }

    /// A floor; `commits` adds the SQLite log.
    func floor(_ floor: Floor, commits: Bool) throws(BenchError) -> Actor {
        var floor = floor
        let folder = commits ? try TemporaryFolder(in: settings.folder) : nil
        floor.log = folder.map { $0.path + "/floor" }
        let process = try TargetProcess(.floor, arguments: floor.arguments, cpu: settings.cpus?.target)
        return Actor(process.target, process: process, folder: folder)
    }

    private func redis() throws(BenchError) -> Actor {
        let folder = try TemporaryFolder(in: settings.folder)
        let process = try Redis.start(
            in: folder.path, durability: settings.durability, cpu: settings.cpus?.target)
        return Actor(process.target, process: process, folder: folder)
    }

    /// The measurements of each target, by rounds.
    struct Comparison {
        var floor: [Measurement] = []
        var server: [Measurement] = []
        /// Nothing if there is no such floor.
        var rows: [Measurement] = []
        /// Nothing if Redis is not measured.
        var redis: [Measurement] = []

        func rows(unit: String) -> [BenchResult.Runs] {
            rows.isEmpty ? [] : [.init(target: "floor (epoll, SQLite, one row per write)", unit: unit, rounds: rows)]
        }

        func redis(unit: String) -> [BenchResult.Runs] {
            redis.isEmpty ? [] : [.init(target: "redis (appendonly)", unit: unit, rounds: redis)]
        }
    }

    /// Runs the same load on the floor and on the server, in turn, each time with new processes.
    ///
    /// - parameters:
    ///   - hasRows: a floor that commits a row for each request is measured as well.
    ///   - knowsRedis: the load can be put on Redis, which is measured if that is asked for.
    func compare(
        _ floor: Floor, commits: Bool, hasRows: Bool = false, knowsRedis: Bool = false,
        _ measure: (Target) throws(BenchError) -> Measurement
    ) throws(BenchError) -> Comparison {
        var found = Comparison()
        let kinds = Target.Kind.allCases.filter { kind in
            switch kind {
            case .floor, .hearth: true
            case .rows: hasRows
            case .redis: knowsRedis && settings.isBesideRedis
            }
        }
        for round in 0..<settings.rounds {
            // None always comes first.
            for kind in round.isMultiple(of: 2) ? kinds : kinds.reversed() {
                let actor =
                    switch kind {
                    case .floor: try self.floor(floor, commits: commits)
                    case .hearth: try server()
                    case .rows: try self.floor(floor.withRows, commits: commits)
                    case .redis: try redis()
                    }
                defer { actor.leave() }
                let measurement = try measure(actor.target)
                switch kind {
                case .floor: found.floor.append(measurement)
                case .hearth: found.server.append(measurement)
                case .rows: found.rows.append(measurement)
                case .redis: found.redis.append(measurement)
                }
            }
        }
        return found
    }
}
