import HearthHTTPCodec
import HearthShell
import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
import HearthRulesTesting
import HearthSecurityRules
import HearthSystem
import HearthClientSession

/// What `hearth rules explain` asks: would this operation be allowed, and why?
struct RulesQuestion {
    private let arguments: Arguments
    /// `read` or `write`.
    private let kind: String
    private let path: String
    private let value: String?
    /// JSON text of what the rules see as `auth`.
    private let auth: [UInt8]

    /// - parameter words: `read /PATH` or `write /PATH VALUE`, in one word or several.
    init(_ words: [String], _ arguments: Arguments) throws(RulesCommandError) {
        let words = words.joined(separator: " ").split(separator: " ", maxSplits: 2).map { String($0) }
        switch (words.first, words.count) {
        case ("read", 2), ("write", 3): break
        default: throw .usage("an operation is 'read /PATH' or 'write /PATH VALUE'")
        }
        (kind, path, value) = (words[0], words[1], words.count > 2 ? words[2] : nil)
        self.arguments = arguments
        auth =
            arguments["as"].map { uid in
                RuleAuth.json(uid: Array(uid.utf8), provider: nil, claims: Array((arguments["claims"] ?? "{}").utf8))
            } ?? Array("null".utf8)
        guard (try? JSONValue(parsing: auth)) != nil else { throw .usage("--claims must be a JSON object") }
    }

    func answer() throws(RulesCommandError) -> ExitCode {
        if arguments["settings"] != nil, arguments["rules"] == nil {
            throw .usage("explain takes --settings with --rules only: a server has its own")
        }
        switch (arguments["rules"], arguments["server"], arguments["key"]) {
        case (let file?, nil, _): return try ask(file: file)
        case (nil, let server?, _): return try ask(server: server)
        case (nil, nil, _?): return try ask(server: nil)
        default: throw .usage("explain needs --rules FILE, or --server URL or --key FILE")
        }
    }

    private static func tell(_ isAllowed: Bool, _ lines: [String]) -> ExitCode {
        StandardOutput.line(isAllowed ? "allowed" : "denied")
        for line in lines { StandardOutput.line(line) }
        return isAllowed ? .success : .failure
    }

    private func usage<Value>(_ body: () throws(UsageError) -> Value) throws(RulesCommandError) -> Value {
        do throws(UsageError) { return try body() } catch { throw .usage(error.message) }
    }

    // MARK: By a file

    private func ask(file: String) throws(RulesCommandError) -> ExitCode {
        let program = try Command.program(file)
        let data = try arguments["data"].map(Self.value(of:)) ?? .null
        let settings = try arguments["settings"].map(Command.settings) ?? DatabaseSettings()
        let principal: Principal
        do throws(JSONError) {
            principal = arguments["as"] == nil ? .nobody : try Principal(auth: auth)
        } catch { throw .usage("--claims must be a JSON object: \(error)") }
        let told = program.with(settings).explain(
            try operation(), by: principal, on: data, now: WallClock.milliseconds)
        return Self.tell(told.isAllowed, told.lines(file: file))
    }

    private static func value(of file: String) throws(RulesCommandError) -> CanonicalJSON {
        let text = try Command.contents(of: file)
        do throws(JSONError) {
            return try CanonicalJSON.parse(text).value
        } catch {
            let (line, column) = error.position(in: text)
            throw .data("\(file):\(line):\(column): \(error)")
        }
    }

    private func operation() throws(RulesCommandError) -> Operation {
        let target: WriteTarget
        do throws(PathError) { target = try WriteTarget(parsing: path) } catch { throw .usage("\(path): \(error)") }
        guard let value else {
            guard !target.isPriority else { throw .usage("\(path): a priority cannot be read alone") }
            return .get(target.path)
        }
        let written: CanonicalJSON = try usage { () throws(UsageError) in try InputText(value).value(for: target) }
        return .set(target, IncomingValue(json: written, hasServerValues: true))
    }

    // MARK: By a server

    /// - parameter server: nil for that of the key.
    private func ask(server: String?) throws(RulesCommandError) -> ExitCode {
        let run: ClientRun = try usage { () throws(UsageError) in
            ClientRun("rules explain", try ServerAddress(arguments, url: server, named: "--server"))
        }
        let question: [UInt8] = try usage { () throws(UsageError) in try self.question(for: run.address) }
        let target = run.address.url.settings("explain")
        return run.onLoop { loop throws(ConnectionError) -> ExitCode in
            let answer = try await run.administer(
                HTTPMethod.post, target, question, token: try await run.token(on: loop), on: loop)
            guard let object = (try? JSONValue(parsing: answer))?.object, let isAllowed = object["allowed"]?.bool
            else { throw ConnectionError.protocolError("the server explains nothing") }
            let lines = (object["lines"]?.array ?? []).compactMap { $0.text }
            return Self.tell(isAllowed, lines)
        }
    }

    private func question(for address: ServerAddress) throws(UsageError) -> [UInt8] {
        let target = try value == nil ? WriteTarget(path: address.path(path)) : address.target(path)
        // Checked here, where the mistake is.
        let written = try value.map { (value) throws(UsageError) in
            let text = try InputText(value)
            _ = try text.value(for: target)
            return (try? JSONValue(parsing: text.bytes)) ?? .null
        }
        return JSONObject([
            "operation": .text(kind), "path": .string([UInt8(ascii: "/")] + target.text), "value": written,
            "auth": (try? JSONValue(parsing: auth)) ?? .null,
        ]).bytes
    }
}
