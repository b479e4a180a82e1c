import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthJSONValues

extension ShellCommand {
    static let ping = ShellCommand(
        name: "ping", synopsis: "[-n N]", summary: "Measure how long the server takes to answer.",
        json: #"{"connected": MILLISECONDS, "requests": [MILLISECONDS…]}."#,
        details: """
            Prints how long it takes to connect (with TLS, the handshake and the sign-in of a credential), then the round trip
            of each request, one at a time, and a summary, also after ^C.
            """,
        options: [.init(name: "count", letter: "n", value: "N", help: "requests to make (default 4)")], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let count = try arguments.count("count") ?? 4
        var pings = Pings()
        let begin = ContinuousClock.now
        let connection = try await session.newConnection()
        defer { connection.close() }
        pings.connecting = .now - begin
        session.out.follow()
        try session.tellTime("\(session.target.url): connected in", pings.connecting)
        for number in 1...count {
            let begin = ContinuousClock.now
            do throws(ConnectionError) { try await connection.ping() } catch {
                if case .cancelled = error, number > 1 { try session.show(pings) }
                throw session.described(error)
            }
            pings.times.append(.now - begin)
            try session.tellTime("request \(number):", pings.times[number - 1])
        }
        try session.show(pings)
    }
}

/// The measurements.
private struct Pings {
    var connecting = Duration.zero
    var times: [Duration] = []

    var json: JSONObject {
        func milliseconds(_ time: Duration) -> JSONValue { .double((time / .microseconds(1)).rounded() / 1000) }
        return JSONObject(["connected": milliseconds(connecting), "requests": .array(times.map(milliseconds))])
    }

    var text: String {
        let mean = times.reduce(.zero, +) / max(times.count, 1)
        return "\(times.count) answers: least \(Self.text(times.min() ?? .zero)), mean \(Self.text(mean)), "
            + "most \(Self.text(times.max() ?? .zero))"
    }

    /// As in `1.25 ms`.
    static func text(_ time: Duration) -> String {
        let hundredths = Int((time / .microseconds(10)).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) ms"
    }
}

extension ShellSession {
    fileprivate func newConnection() async throws(ShellError) -> Connection {
        do throws(ConnectionError) { return try await connect() } catch { throw described(error) }
    }

    /// A line for people.
    fileprivate func tellTime(_ label: String, _ time: Duration) throws(ShellError) {
        if !isJSON { try out.line("\(label) \(Pings.text(time))") }
    }

    fileprivate func show(_ pings: Pings) throws(ShellError) { try show(.object(pings.json)) { [pings.text] } }
}
