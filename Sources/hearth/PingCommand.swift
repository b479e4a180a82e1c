import HearthShell
import HearthClientSession
import HearthConnection

extension Command {
    static let ping = Command(
        name: "ping", synopsis: "[OPTIONS]", summary: "Measure how long a server takes to answer.",
        details: """
            Prints how long it takes to connect (with TLS, the handshake and the sign-in of --auth or --key), then the
            round trip of each request, one at a time, and a summary. The command ends with 69 if the server cannot be
            reached.
            """,
        options: ServerAddress.options + [.init(name: "count", value: "N", help: "requests to make (default 4)")]
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        let count = try arguments.integer("count", 1...1_000_000) ?? 4
        let run = try ClientRun("ping", arguments)
        return run.onLoop(endsOnSignal: true) { loop throws(ConnectionError) in
            let begin = ContinuousClock.now
            let connection = try await run.connect(on: loop)
            StandardOutput.line("\(run.address.url): connected in \(milliseconds(.now - begin))")
            var times: [Duration] = []
            for number in 1...count {
                let begin = ContinuousClock.now
                try await connection.ping()
                times.append(.now - begin)
                StandardOutput.line("request \(number): \(milliseconds(times[number - 1]))")
            }
            let sum = times.reduce(.zero, +)
            StandardOutput.line(
                "\(count) answers: least \(milliseconds(times.min() ?? .zero)), mean \(milliseconds(sum / count)), "
                    + "most \(milliseconds(times.max() ?? .zero))")
            return .success
        }
    }

    /// As in `1.25 ms`.
    private static func milliseconds(_ time: Duration) -> String {
        let hundredths = Int((time / .microseconds(10)).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) ms"
    }
}
