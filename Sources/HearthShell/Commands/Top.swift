import HearthConnection
import HearthJSONTree
import HearthJSONValues
import Synchronization
import HearthClientSession
import HearthServerProtocol

extension ShellCommand {
    static let top = ShellCommand(
        name: "top", synopsis: "[-s SECONDS] [-n N]",
        summary: "Show the figures of the server and its costliest requests, page after page, until ^C.",
        json: #"""
            {"figures": as of 'stats', "rates": {"commits", "pushes", "cores"}, "requests": [{"uid", "request",
            "count", "us"}…]} for each page.
            """#,
        details: """
            Rates are those since the page before. Requests are summed up by user, kind and place since then; the first is
            the one on which the database worked longest.
            """,
        options: [
            .init(name: "seconds", letter: "s", value: "SECONDS", help: "time between pages (default 2)"),
            .limit("end after N pages"),
        ], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let seconds = try arguments.count("seconds", in: 1...3600) ?? 2
        let pages = try arguments.count("limit") ?? .max
        let connection = try await session.administrator()
        let texts = try await reporting { () throws(ConnectionError) in try await connection.profile() }
        let requests = RequestCollector()
        let collecting = Task { for await text in texts { requests.add(text) } }
        var failure: ShellError?
        do throws(ShellError) { try await session.showPages(pages, seconds: seconds, requests) } catch {
            failure = error
        }
        collecting.cancel()
        // The server has to be told even after ^C.
        await Task { try? await connection.endProfile() }.value
        if let failure { throw failure }
    }
}

extension ShellSession {
    fileprivate func showPages(
        _ count: Int, seconds: Int, _ collector: RequestCollector
    ) async throws(ShellError) {
        out.follow()
        var before: (figures: JSONObject, time: ContinuousClock.Instant)?
        for number in 1...count {
            let figures = try await ask(.statistics)
            let now = ContinuousClock.now
            let rates = before.map {
                ServerRates(from: $0.figures, to: figures, seconds: (now - $0.time) / .seconds(1))
            }
            before = (figures, now)
            let requests = Array(collector.take().prefix(10))
            let page = JSONObject([
                "figures": .object(figures), "rates": rates.map { .object($0.json) },
                "requests": .array(requests.map { .object($0.json) }),
            ])
            if !isJSON {
                if number > 1, out.columns == nil { try out.line("") }
                out.clear()
            }
            try show(.object(page)) {
                lines(ofFigures: figures) + (rates.map { ["", "now       \($0.text)"] } ?? []) + lines(of: requests)
            }
            if number == count { return }
            do { try await Task.sleep(for: .seconds(seconds)) } catch { throw .stopped }
        }
    }

    private func lines(of requests: [RequestSums.Sum]) -> [String] {
        if requests.isEmpty { return [] }
        let rows = requests.map { sum in
            ["\(sum.count)", "\(sum.microseconds / 1000) ms", sum.request.user, sum.request.text]
        }
        return [""] + Table(head: ["requests", "time", "who", "what"], rows: rows).lines { styled($0, .dim) }
    }
}

/// Sums that one task adds to and another one takes.
private final class RequestCollector: Sendable {
    private let sums = Mutex(RequestSums())

    func add(_ text: [UInt8]) { sums.withLock { $0.add(text) } }

    func take() -> [RequestSums.Sum] { sums.withLock { $0.take() } }
}

/// How fast the figures of a server grow.
struct ServerRates {
    /// Per second.
    let commits: Double
    /// Messages to listeners per second.
    let pushes: Double
    /// Processor time per second: 1 is a whole core.
    let cores: Double

    /// - parameter seconds: between the two.
    init(from before: JSONObject, to after: JSONObject, seconds: Double) {
        func rate(_ value: (JSONObject) -> Double) -> Double {
            seconds > 0 ? max(0, value(after) - value(before)) / seconds : 0
        }
        commits = rate { figures in
            let databases = figures["databases"]?.array?.compactMap(\.object) ?? []
            return databases.reduce(0) { $0 + Double($1["sequence"]?.integer ?? 0) }
        }
        pushes = rate { Double($0["pushes"]?.integer ?? 0) }
        cores = rate { if case .double(let seconds)? = $0["cpu"] { seconds } else { Double($0["cpu"]?.integer ?? 0) } }
    }

    var json: JSONObject {
        JSONObject(["commits": .double(commits), "pushes": .double(pushes), "cores": .double(cores)])
    }

    var text: String {
        "commits \(Self.whole(commits))/s, messages to listeners \(Self.whole(pushes))/s, "
            + "cpu \(Self.whole(cores * 100)) % of a core"
    }

    /// A server's figures may exceed the range of integers.
    private static func whole(_ number: Double) -> Int { Int(exactly: number.rounded()) ?? .max }
}

/// The requests to a database since the last look, summed up by user, kind and place.
struct RequestSums {
    struct Request: Hashable {
        let user: String
        /// As in `set /a`.
        let text: String
    }

    struct Sum {
        let request: Request
        var count: Int64 = 0
        /// For which the database worked on them.
        var microseconds: Int64 = 0

        var json: JSONObject {
            JSONObject([
                "uid": .text(request.user), "request": .text(request.text), "count": .integer(count),
                "us": .integer(microseconds),
            ])
        }
    }

    private var sums: [Request: Sum] = [:]

    /// Adds the entries of a message of the profile (administration.md).
    mutating func add(_ text: [UInt8]) {
        for entry in (try? JSONValue(parsing: text))?.array?.compactMap(\.object) ?? [] {
            let request: Request
            if entry["others"] == nil {
                let what = "\(entry["op"]?.printable ?? "") \(entry["path"]?.printable ?? "")"
                request = Request(user: entry["uid"]?.printable ?? "-", text: what)
            } else {
                request = Request(user: "-", text: "other requests")
            }
            var sum = sums[request] ?? Sum(request: request)
            // The sum of a server's figures may exceed the range of integers.
            sum.count &+= entry["count"]?.integer ?? entry["others"]?.integer ?? 0
            sum.microseconds &+= entry["us"]?.integer ?? 0
            sums[request] = sum
        }
    }

    /// The sums so far, the costliest first. Begins again.
    mutating func take() -> [Sum] {
        defer { sums = [:] }
        return sums.values.sorted {
            ($0.microseconds, $0.count, $1.request.text) > ($1.microseconds, $1.count, $0.request.text)
        }
    }
}
