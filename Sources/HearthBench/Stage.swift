/// Starts the targets of a benchmark, each in a fresh process with fresh data, and compares what they do.
struct Stage {
    let settings: BenchSettings

    /// A target with what must live as long as it.
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
    /// - parameter data: a data folder that stays; nil for one that goes with the actor.
    func server(
        data: String? = nil, durability: String? = nil, rules: String? = nil, hearthSettings: String? = nil
    ) throws(BenchError) -> Actor {
        if let url = settings.url { return try runningServer(url) }
        let folder = data == nil ? try TemporaryFolder(in: settings.folder) : nil
        let arguments =
            [
                "serve", "--dev", "--listen", "127.0.0.1:0", "--data", data ?? folder?.path ?? "",
                "--durability", durability ?? settings.durability, "--log-level", "warning",
            ] + (rules.map { ["--rules", $0] } ?? []) + (hearthSettings.map { ["--settings", $0] } ?? [])
        let process = try TargetProcess(name: "hearth", arguments: arguments, cpu: settings.cpus?.target)
        return Actor(process.target, process: process, folder: folder)
    }

    /// The server that runs already, with nothing left of earlier runs.
    private func runningServer(_ url: String) throws(BenchError) -> Actor {
        guard let address = IPv4Address(url) else {
            throw BenchError("not of the form ws://127.0.0.1:9000: \(url)")
        }
        let target = Target(name: "hearth", address: address, process: settings.process, cpu: nil, isFloor: false)
        var bulk = try BulkLoad(target)
        try bulk.remove("/bench")
        return Actor(target)
    }

    /// A floor; `commits` adds the SQLite log.
    func floor(_ floor: Floor, commits: Bool) throws(BenchError) -> Actor {
        var floor = floor
        let folder = commits ? try TemporaryFolder(in: settings.folder) : nil
        floor.log = folder.map { $0.path + "/floor" }
        let process = try TargetProcess(name: Floor.name, arguments: floor.arguments, cpu: settings.cpus?.target)
        return Actor(process.target, process: process, folder: folder)
    }

    /// Runs the same load on the floor and on the server, in turn, each time with new processes.
    func compare(
        _ floor: Floor, commits: Bool, _ measure: (Target) throws(BenchError) -> Measurement
    ) throws(BenchError) -> (floor: [Measurement], server: [Measurement]) {
        var floors: [Measurement] = []
        var servers: [Measurement] = []
        for round in 0..<settings.rounds {
            // Neither always comes first.
            for isFloor in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                let actor = isFloor ? try self.floor(floor, commits: commits) : try server()
                defer { actor.leave() }
                let measurement = try measure(actor.target)
                if isFloor { floors.append(measurement) } else { servers.append(measurement) }
            }
        }
        return (floors, servers)
    }
}
