import HearthAdmin
package import HearthEventLoop
import HearthEventLoopTransport
import HearthJSONTree
import HearthJSONValues
import HearthServerProtocol
import HearthSystem
package import HearthClientSession
package import HearthConnection

/// Asks the user of the shell.
package protocol ShellPrompter: AnyObject, Sendable {
    /// A yes or a no. Throws ``ShellError/givenUp`` after ^C.
    func confirm(_ question: String) throws(ShellError) -> Bool

    /// Asks for a secret without showing it. Throws ``ShellError/givenUp`` after ^C.
    func secret(_ question: String) throws(ShellError) -> String
}

/// The state of a shell between two commands: the connection, the place, the user that it acts as. Used by one command
/// at a time.
package final class ShellSession: @unchecked Sendable {
    // Safe because: commands run one after the other, and only they change members.

    /// Whose shell it is.
    package struct Target: Sendable {
        package var url: DatabaseURL
        /// Nil for a server in development mode.
        package var credential: Credential?
        /// A running loop, for the connections.
        package var loop: EventLoop
        package var options: ConnectionOptions

        package init(
            _ url: DatabaseURL, _ credential: Credential?, on loop: EventLoop,
            options: ConnectionOptions = ConnectionOptions()
        ) {
            (self.url, self.credential, self.loop, self.options) = (url, credential, loop, options)
        }

        /// The identity of every bearer token at a server in development mode.
        package static let developer = Array("owner".utf8)
    }

    /// As whom the shell reads and writes, if not as the administrator.
    struct Acting {
        var name: String
        /// The JSON text of `auth` in the rules.
        var auth: [UInt8]
        /// With the time at which it was made.
        var connection: (Connection, ContinuousClock.Instant)?
    }

    /// Access tokens last an hour; a connection that acts as somebody is not given another one.
    private static let actingMax = Duration.seconds(1800)

    package private(set) var target: Target
    package let out: any ShellOutput
    /// Nil if there is no user to ask.
    let prompter: (any ShellPrompter)?
    package var format: OutputFormat
    var isJSON: Bool { format.isJSON }
    /// Changes are shown, not made.
    package var isDry: Bool
    /// Yes to all questions.
    package var isSure: Bool
    /// The name of the program's command that the session runs, as in `hearth get`; nil in a shell. Without a
    /// credential such a command reads and writes without a user, not as an administrator.
    let program: String?
    /// Those of the program that the shell does not have.
    let programCommands: Set<String>
    /// Whether `-` means standard input, because no commands are read from it.
    let readsInput: Bool
    /// The time, for lines that begin with it.
    let clock: @Sendable () -> String
    /// Where paths begin.
    var place: Path
    var acting: Acting?
    /// Bytes of a value that `mv` and `cp` take.
    var copiedBytesMax = 16_000_000
    /// Somebody has asked to leave.
    package var isOver = false
    private var connection: Connection?
    /// Of somebody signed out.
    private var guest: Connection?
    private var knownProject: String?

    package init(
        _ target: Target, _ out: any ShellOutput, prompter: (any ShellPrompter)? = nil,
        format: OutputFormat = .text, isDry: Bool = false, isSure: Bool = false, program: String? = nil,
        programCommands: Set<String> = [], readsInput: Bool = false,
        clock: @escaping @Sendable () -> String = { Moment.text(WallClock.milliseconds) }
    ) {
        self.target = target
        self.out = out
        self.prompter = prompter
        self.format = format
        self.isDry = isDry
        self.isSure = isSure
        self.program = program
        self.programCommands = programCommands
        self.readsInput = readsInput
        self.clock = clock
        place = target.url.path
    }

    // MARK: Connections

    /// As whom a connection acts.
    private enum Identity {
        case administrator
        case guest
        /// The JSON text of `auth` in the rules.
        case acting([UInt8])
    }

    /// As whom the session reads and writes.
    private var identity: Identity {
        if let acting { return .acting(acting.auth) }
        return program != nil && target.credential == nil ? .guest : .administrator
    }

    /// The administrator's connection; opens one if necessary.
    package func administrator() async throws(ShellError) -> Connection {
        do throws(ConnectionError) { return try await administratorConnection() } catch { throw described(error) }
    }

    func administratorConnection() async throws(ConnectionError) -> Connection {
        if let connection { return connection }
        let new = try await open(.administrator)
        connection = new
        return new
    }

    /// The connection that reads and writes.
    func data() async throws(ShellError) -> Connection {
        do throws(ConnectionError) { return try await dataConnection() } catch { throw described(error) }
    }

    /// As ``data()``, for those to whom the reason of a failure matters.
    func dataConnection() async throws(ConnectionError) -> Connection {
        switch identity {
        case .administrator: return try await administratorConnection()
        case .guest:
            if let guest { return guest }
            let new = try await open(.guest)
            guest = new
            return new
        case .acting:
            if let (connection, since) = acting?.connection, ContinuousClock.now - since < Self.actingMax {
                return connection
            }
            let new = try await connect()
            acting?.connection = (new, .now)
            return new
        }
    }

    /// A new connection that reads and writes. The caller closes it.
    func connect() async throws(ConnectionError) -> Connection { try await open(identity) }

    /// The value at a place, as the user that the shell acts as; nil if its text has more bytes. It uses a separate
    /// connection, which reads no more than that.
    func get(_ path: Path, bytesMax: Int) async throws(ShellError) -> CanonicalJSON? {
        var options = target.options
        options.messageBytesMax = bytesMax + Self.messageOverhead
        do throws(ConnectionError) {
            let connection = try await open(identity, options)
            defer { connection.close() }
            let value = try await connection.get(path)
            return value.bytes.count > bytesMax ? nil : value
        } catch .protocolError {
            return nil
        } catch {
            throw described(error)
        }
    }

    /// The size of an answer around its value, generously.
    private static let messageOverhead = 1000

    private func open(
        _ identity: Identity, _ options: ConnectionOptions? = nil
    ) async throws(ConnectionError) -> Connection {
        let target = target
        let new = try await Connection.open(target.url, on: target.loop, options: options ?? target.options)
        switch (identity, target.credential) {
        case (.guest, _): break
        case (.administrator, let credential?): try await new.authenticate(credential)
        case (_, let credential):
            var auth: [UInt8]?
            if case .acting(let text) = identity { auth = text }
            let token = try await credential?.token(on: target.loop, options: target.options).text
            do throws(ConnectionError) {
                try await new.authenticate(token ?? Target.developer, acting: auth)
            } catch .refused where credential == nil {
                throw .refused(
                    status: "\(target.url) wants a credential",
                    text: "--key FILE, of 'hearth admin create-key', or --auth TOKEN")
            }
        }
        return new
    }

    /// An error with the server that it is about.
    func described(_ error: ConnectionError) -> ShellError {
        guard case .disconnected(.unreachable(let text)) = error else { return ShellError(error) }
        return .lost("cannot reach \(target.url): \(text)\(ConnectionHint(error, target.url).text)")
    }

    /// Makes requests over the connection that reads and writes.
    func asking<Value>(
        _ body: (Connection) async throws(ConnectionError) -> Value
    ) async throws(ShellError) -> Value {
        do throws(ConnectionError) {
            return try await askingAgain { () async throws(ConnectionError) in try await body(dataConnection()) }
        } catch {
            throw described(error)
        }
    }

    /// A server that shuts down has not performed unanswered requests (Protocol.md 6): they are sent again over the
    /// next connection.
    private func askingAgain<Value>(
        _ body: () async throws(ConnectionError) -> Value
    ) async throws(ConnectionError) -> Value {
        do throws(ConnectionError) { return try await body() } catch .disconnected(.closedByServer(code: 1001, _)) {
            forgetConnections()
            return try await body()
        }
    }

    private func forgetConnections() {
        (connection, guest) = (nil, nil)
        acting?.connection = nil
    }

    /// When a connection is lost meanwhile, the next request opens another one.
    func noticingLoss<Value>(_ body: () async throws(ShellError) -> Value) async throws(ShellError) -> Value {
        do throws(ShellError) { return try await body() } catch {
            guard case .lost(let text) = error else { throw error }
            forgetConnections()
            let isNamed = text.hasPrefix("cannot reach ") || text.hasPrefix("\(target.url): ")
            throw .lost(isNamed ? text : "\(target.url): \(text)")
        }
    }

    /// Goes to another database of the server. Stays where it is if the server does not have it.
    func use(_ database: String) async throws(ShellError) {
        let (before, connection) = (target, connection)
        target.url.database = database
        self.connection = nil
        do throws(ShellError) { _ = try await administrator() } catch {
            (target, self.connection) = (before, connection)
            throw error
        }
        connection?.close()
        guest?.close()
        guest = nil
        acting?.connection?.0.close()
        acting?.connection = nil
        place = .root
    }

    // MARK: Asking the server

    /// An administrator who makes requests over HTTP.
    func administrator(_ options: AdminOptions) throws(AdminError) -> Administrator {
        try Administrator(
            target.url, target.credential, options: options, connection: target.options, loop: target.loop)
    }

    func described(_ error: AdminError) -> ShellError {
        switch error.code {
        case .cancelled: .stopped
        case .unavailable: .lost("\(error)")
        case .unauthenticated where target.credential == nil:
            .failed("\(error): --key FILE, of 'hearth admin create-key', or --auth TOKEN")
        default: .failed("\(error)")
        }
    }

    /// The answer to an administrator's request.
    func ask(_ request: AdminRequest) async throws(ShellError) -> JSONObject {
        let text: [UInt8]
        do throws(ConnectionError) {
            text = try await askingAgain { () async throws(ConnectionError) in
                try await administratorConnection().administer(request)
            }
        } catch {
            throw isElsewhere(error) ? .failed(adviceOnAddress) : described(error)
        }
        guard let object = (try? JSONValue(parsing: text))?.object else {
            throw .failed("the server answers what this shell does not understand")
        }
        return object
    }

    /// The server answers administrators, but not here.
    private func isElsewhere(_ error: ConnectionError) -> Bool {
        guard case .refused("permission_denied", let text) = error else { return false }
        return text == AdminRequest.elsewhere
    }

    private var adviceOnAddress: String {
        guard case .key(let key)? = target.credential else {
            return "\(target.url) does not answer administrators: name the server's listener for administrators"
        }
        return "\(target.url) does not answer administrators: the key is for \(key.server)"
    }

    /// Children of a node, as the user that the shell acts as.
    func page(_ path: Path, after: Key? = nil, limit: Int) async throws(ShellError) -> NodePage {
        NodePage(try await ask(.children(AdminPage(path, after: after, limit: limit, acting: acting?.auth))))
    }

    /// Makes a request of administrators over the connection; the body of an answer other than 200 becomes an error.
    func call(_ method: String, _ target: String, _ body: [UInt8] = []) async throws(ShellError) -> JSONValue {
        try await answer(method, target, body).content()
    }

    /// The same, for those to whom the status matters.
    func answer(_ method: String, _ target: String, _ body: [UInt8] = []) async throws(ShellError) -> RESTAnswer {
        RESTAnswer(try await ask(.rest(method: Array(method.utf8), target: Array(target.utf8), body: body)))
    }

    /// The project whose accounts the server has.
    func project() async throws(ShellError) -> String {
        if let knownProject { return knownProject }
        let project = try await ask(.statistics)["project"]?.text ?? "hearth"
        knownProject = project
        return project
    }

    // MARK: Paths

    /// The place that a word means; the current one without a word.
    func path(_ word: Word?) throws(ShellError) -> Path {
        let target = try self.target(word)
        guard !target.isPriority else { throw .usage("a priority cannot be read alone") }
        return target.path
    }

    /// The same, and it may be a priority.
    func target(_ word: Word?) throws(ShellError) -> WriteTarget {
        guard let word else { return WriteTarget(path: place) }
        // The empty path of a script with an unset variable should not mean the current place.
        if word.text.isEmpty { throw .usage("the path is empty: / is the whole database, . the current place") }
        var path = word.text.hasPrefix("/") ? Path.root : place
        var isPriority = false
        for part in word.text.split(separator: "/") {
            if isPriority { throw .usage("invalid path '\(word.text)': a priority has no children") }
            switch part {
            case ".": break
            case "..": path = path.parent ?? .root
            case ".priority": isPriority = true
            default:
                do throws(KeyError) { path = path.appending(try Key(validating: String(part))) } catch {
                    throw .usage("invalid path '\(word.text)': \(error)")
                }
            }
        }
        guard path.depth <= Path.maximumDepth else { throw .usage("invalid path '\(word.text)': \(PathError.tooDeep)") }
        return WriteTarget(path: path, isPriority: isPriority)
    }

    // MARK: Telling

    var painter: JSONPainter { JSONPainter(isColoured: out.isColoured) }

    func styled(_ text: String, _ style: Style) -> String { style(text, out.isColoured) }

    /// The result of a command: as JSON, or as lines for people.
    ///
    /// - parameter elements: those of a list, if the value is not the list itself.
    func show(
        _ value: @autoclosure () -> JSONValue, elements: @autoclosure () -> [JSONValue]? = nil, _ lines: () -> [String]
    ) throws(ShellError) {
        switch format {
        case .text, .raw: for line in lines() { try out.line(line) }
        case .json: try out.line(String(decoding: value().bytes, as: UTF8.self))
        case .jsonl:
            for element in elements() ?? value().array ?? [value()] {
                try out.line(String(decoding: element.bytes, as: UTF8.self))
            }
        }
    }

    /// Columns that are as wide as their contents.
    func show(
        _ value: @autoclosure () -> JSONValue, elements: @autoclosure () -> [JSONValue]? = nil, table rows: [[String]],
        head: [String]
    ) throws(ShellError) {
        try show(value(), elements: elements()) { Table(head: head, rows: rows).lines { self.styled($0, .dim) } }
    }

    /// Prints the data that a command of the program is about to destroy, and where: the address may come from a key or
    /// the environment.
    func announce(_ what: String) { if program != nil, !isDry { tell("\(what) at \(target.url)") } }

    /// Prints a note for people, apart from the results.
    func tell(_ text: String) { out.writeError((program.map { "hearth \($0): " } ?? "") + text) }

    // MARK: Changing

    /// Asks before an irreversible operation. Throws if the answer is no, or if there is no user to ask.
    func confirm(_ what: String) throws(ShellError) {
        if isSure || isDry { return }
        guard let prompter else { throw .failed("\(what): -y says that you are sure") }
        let place = program == nil ? "" : " (\(target.url))"
        guard try prompter.confirm("\(what)\(place). Go on? [y/N] ") else { throw .failed("nothing was done") }
    }

    /// Makes a change, or only says which it would be.
    ///
    /// - parameters:
    ///   - what: for people, in the form "remove /a".
    ///   - change: the members that `--json` shows, in addition to whether it was made.
    func change(
        _ what: String..., as change: JSONObject, _ body: () async throws(ShellError) -> Void
    ) async throws(ShellError) {
        try await self.change(what, as: change, body)
    }

    /// The same of several changes.
    func change(
        _ whats: [String], as change: JSONObject, _ body: () async throws(ShellError) -> Void
    ) async throws(ShellError) {
        if !isDry { try await body() }
        guard isDry || isJSON else { return }
        var object = change
        object["dryRun"] = isDry ? .bool(true) : nil
        try show(.object(object)) { whats.map { "would \($0)" } }
    }
}

/// The result of an administrators' request (administration.md 2).
struct RESTAnswer {
    let status: Int64
    private let body: JSONValue

    init(_ object: JSONObject) {
        status = object["status"]?.integer ?? 0
        body = object["body"] ?? .null
    }

    /// Why it was refused.
    var message: String {
        let error = body.object?["error"]
        let text = error?.text ?? error?.object?["message"]?.text ?? "HTTP \(status)"
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// The body of a 200.
    func content() throws(ShellError) -> JSONValue {
        guard status == 200 else { throw .failed(message) }
        return body
    }
}

/// Rows with columns.
struct Table {
    var head: [String]
    var rows: [[String]]

    /// Columns are padded, but for the last one.
    func lines(styleHead: (String) -> String) -> [String] {
        let rows = rows.map { $0.map(\.printable) }
        var widths = head.map(\.count)
        for row in rows { for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.count) } }
        func line(_ row: [String]) -> String {
            var text = ""
            for (index, cell) in row.enumerated() {
                text +=
                    index + 1 < row.count ? cell + String(repeating: " ", count: widths[index] - cell.count + 2) : cell
            }
            return text.hasSuffix(" ") ? String(text.reversed().drop { $0 == " " }.reversed()) : text
        }
        return [styleHead(line(head))] + rows.map(line)
    }
}
