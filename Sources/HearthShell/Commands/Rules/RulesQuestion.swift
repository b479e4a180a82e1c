import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
import HearthRulesTesting
import HearthSecurityRules
import HearthSystem
import HearthWireProtocol

/// The request of `rules explain`: would this operation be allowed, and why?
struct RulesQuestion {
    private let session: ShellSession
    private let arguments: ShellArguments
    private let target: WriteTarget
    /// JSON to write; nil for a read.
    private let json: [UInt8]?
    /// Of a read.
    private let query: QueryObject?
    /// The JSON text of `auth` in the rules.
    private let auth: [UInt8]

    /// The words are `read PATH` or `write PATH JSON`, in one word or several.
    init(_ session: ShellSession, _ arguments: ShellArguments) throws(ShellError) {
        (self.session, self.arguments) = (session, arguments)
        let usage = arguments.misused("an operation is 'read PATH' or 'write PATH JSON'")
        var words = arguments.words
        if words.count == 1 {
            words = words[0].text.split(separator: " ", maxSplits: 2).map { Word(String($0)) }
        }
        let value = words.dropFirst(2).map(\.raw).joined(separator: " ")
        switch (words.first?.text, words.count) {
        case ("read", 2): json = nil
        case ("write", 3...): json = Array(value.utf8)
        default: throw usage
        }
        target = json == nil ? WriteTarget(path: try session.path(words[1])) : try session.target(words[1])
        query = try Self.query(arguments)
        if query != nil, json != nil { throw arguments.misused("--where goes with 'read PATH' only") }
        if let uid = arguments["as"] {
            auth = RuleAuth.json(
                uid: Array(uid.utf8), provider: nil, claims: Array((arguments["claims"] ?? "{}").utf8))
        } else {
            if arguments.has("claims") { throw arguments.misused("--claims needs --as") }
            auth = session.acting?.auth ?? Array("null".utf8)
        }
        guard (try? JSONValue(parsing: auth)) != nil else { throw arguments.misused("--claims must be a JSON object") }
    }

    private static func query(_ arguments: ShellArguments) throws(ShellError) -> QueryObject? {
        guard let condition = arguments["where"] else {
            if arguments.has("limit") { throw arguments.misused("--limit needs --where") }
            return nil
        }
        let query = try QueryWords.find(condition, orders: nil)
        return try QueryWords.object(query, limit: try arguments.count("limit") ?? 100)
    }

    func answer() async throws(ShellError) {
        let isAllowed: Bool
        let lines: [String]
        if let file = arguments["rules"] {
            (isAllowed, lines) = try ask(RulesFile(file))
        } else {
            for option in ["settings", "data"] where arguments.has(option) {
                throw arguments.misused("--\(option) goes with --rules only: a server has its own")
            }
            (isAllowed, lines) = try await askServer()
        }
        let answer = JSONObject(["allowed": .bool(isAllowed), "lines": .array(lines.map { .text($0) })])
        try session.show(.object(answer)) {
            [isAllowed ? session.styled("allowed", .string) : session.styled("denied", .error)] + lines
        }
        if !isAllowed { throw .negative }
    }

    private func ask(_ rules: RulesFile) throws(ShellError) -> (isAllowed: Bool, lines: [String]) {
        let program = try rules.program()
        let data = try arguments["data"].map { (name) throws(ShellError) in try RulesFile(name).data() } ?? .null
        let settings = try arguments["settings"].map { (name) throws(ShellError) in try RulesFile(name).settings() }
        let principal: Principal
        do throws(JSONError) { principal = auth == Array("null".utf8) ? .nobody : try Principal(auth: auth) } catch {
            throw .usage("--claims must be a JSON object: \(error)")
        }
        let told = program.with(settings ?? DatabaseSettings()).explain(
            try operation(), by: principal, on: data, now: WallClock.milliseconds)
        return (told.isAllowed, told.lines(file: rules.name))
    }

    private func operation() throws(ShellError) -> Operation {
        guard let json else { return .get(target.path, query: query?.query) }
        return .set(target, IncomingValue(json: try JSONInput(json).value(for: target), hasServerValues: true))
    }

    private func askServer() async throws(ShellError) -> (isAllowed: Bool, lines: [String]) {
        var question = JSONObject([
            "operation": .text(json != nil ? "write" : query == nil ? "read" : "find"),
            "path": .string([UInt8(ascii: "/")] + target.text), "auth": (try? JSONValue(parsing: auth)) ?? .null,
        ])
        if let json {
            // Mistakes are found here, where their place is told.
            _ = try JSONInput(json).value(for: target)
            question["value"] = try? JSONValue(parsing: json)
        }
        if let query { question["query"] = try? JSONValue(parsing: query.text) }
        let answer = try await session.call("POST", "/.settings/explain.json", question.bytes)
        guard let isAllowed = answer.object?["allowed"]?.bool else { throw ShellSession.misunderstood }
        return (isAllowed, answer.object?["lines"]?.array?.compactMap(\.text) ?? [])
    }
}
