import HearthBench
import HearthShell

extension Command {
    static let bench = Command(
        name: "bench", synopsis: "BENCHMARK [OPTIONS]",
        summary: "Measure the server, side by side with the least that any server must do.",
        json: #"""
            {"benchmark", "title", "machine", "parameters", "targets": [{"name", "unit", "perSecond",
            "latencyNanoseconds"…}…], "findings": [{"name", "value", "unit", "rounds"…}…]} for each comparison.
            """#,
        details: """
            \(Bench.allCases.map { "  \($0.rawValue.padded(to: 10))\($0.summary)" }.joined(separator: "\n"))
              all       all of these
              floor     serve as a floor: no parsing, ready-made frames, bare group commits; the others start it

            Sockets are real, all processes run on this machine, and their CPUs are printed. On a machine that has other
            things to do, 'chrt -f 5 hearth bench ...' keeps them off those CPUs.
            """,
        options: [
            .init(name: "rounds", value: "N", help: "times that each comparison is repeated (default 3)"),
            .init(name: "seconds", value: "N", help: "length of each run (default 10)"),
            .init(name: "url", value: "URL", help: "measure the server that runs at ws://HOST:PORT"),
            .init(name: "pid", value: "N", help: "its process, to see its CPU time and memory"),
            .init(name: "folder", value: "DIR", help: "where to make data folders (default /var/tmp)"),
            .init(name: "durability", value: "MODE", help: "of the server: full (default), process or memory"),
            .init(
                name: "beside", value: "redis",
                help: "write, read: measure the distribution's Redis as well, with the same durability"),
            .init(
                name: "connections", value: "N",
                help: "write, read, rest, txn, additions, cluster: connections (default 64)"),
            .init(
                name: "in-flight", value: "N",
                help: "write, read, additions, client, cluster: requests in flight on each (default 16)"),
            .init(
                name: "listeners", value: "N",
                help: "fanout, idle, reconnect, cluster: connections (default 1000 and 10000)"),
            .init(name: "leaves", value: "N", help: "start: leaves in the database (default 10000000)"),
            .init(name: "keep", value: "DIR", help: "start: a data folder to fill once and use again"),
            .init(
                name: "children", value: "N",
                help: "wide, query, page, mixed: children of the widest node (default 1000000)"),
            .init(name: "unpinned", value: nil, help: "do not pin targets to CPU 0 and the generator to CPU 1"),
            .init(name: "reply-bytes", value: "N", help: "floor: payload of an answer"),
            .init(name: "push-bytes", value: "N", help: "floor: payload of a change for listeners (default 0: none)"),
            .init(name: "push-tail", value: "N", help: "floor: bytes behind its number"),
            .init(name: "log", value: "FILE", help: "floor: SQLite file for commits"),
            .init(name: "rows", value: nil, help: "floor: one row for each request; otherwise one for each group"),
        ] + Arguments.Option.output
    ) { arguments throws(UsageError) in
        let name = try arguments.positional("BENCHMARK")[0]
        if name == "floor" {
            let floor = try Floor(arguments)
            return finish { () throws(BenchError) in try floor.run() }
        }
        guard let chosen = name == "all" ? Bench.allCases : Bench(rawValue: name).map({ [$0] }) else {
            throw UsageError(message: "unknown benchmark '\(name)'")
        }
        let settings = try BenchSettings(arguments)
        return finish { () throws(BenchError) in
            try Bench.run(chosen, settings) { StandardOutput.line($0) }
        }
    }

    private static func finish(_ body: () throws(BenchError) -> Void) -> ExitCode {
        do throws(BenchError) {
            try body()
            return .success
        } catch {
            StandardError.write("hearth bench: \(error.message)\n")
            return .failure
        }
    }
}

extension BenchSettings {
    fileprivate init(_ arguments: Arguments) throws(UsageError) {
        self.init()
        if let count = try arguments.integer("rounds", 1...1000) { rounds = count }
        if let count = try arguments.integer("seconds", 1...86400) { seconds = Double(count) }
        printsJSON = try ProgramOutput(arguments).isJSON
        url = arguments["url"]
        process = try arguments.integer("pid", 1...Int(Int32.max)).map { Int32($0) }
        if let path = arguments["folder"] { folder = path }
        if let mode = arguments["durability"] { durability = mode }
        if let count = try arguments.integer("connections", 1...10_000) { connections = count }
        if let count = try arguments.integer("in-flight", 1...1000) { inFlight = count }
        if let count = try arguments.integer("listeners", 1...1_000_000) {
            listeners = [count]
            idleConnections = count
        }
        if let count = try arguments.integer("leaves", 10...1_000_000_000) { leaves = count }
        keptFolder = arguments["keep"]
        if let name = arguments["beside"] {
            guard name == "redis" else { throw UsageError(message: "--beside is redis, not '\(name)'") }
            isBesideRedis = true
        }
        if let count = try arguments.integer("children", 10...9_000_000) { children = count }
        if arguments.flag("unpinned") { cpus = nil }
    }
}

extension Floor {
    fileprivate init(_ arguments: Arguments) throws(UsageError) {
        self.init(
            replySize: try arguments.integer("reply-bytes", 1...65_535) ?? 1,
            pushSize: try arguments.integer("push-bytes", 0...65_535) ?? 0,
            pushTail: try arguments.integer("push-tail", 0...65_535) ?? 0, log: arguments["log"],
            hasRows: arguments.flag("rows"))
    }
}
