import HearthEventLoop
import HearthEventLoopTransport
import HearthServer
import HearthJSONTree
import HearthShell
import HearthSystem
import HearthClientSession
import HearthConnection

/// The options that say which database a command talks to, where in it, and as whom.
struct ServerAddress {
    /// The server of a command that names none.
    static let usual = "ws://127.0.0.1:9000"

    static let options: [Arguments.Option] =
        [
            .init(
                name: "url", value: "URL",
                help: "the server (default: that of --key, or \(usual)), with a path or ?ns=NAME if wanted"),
            .init(name: "database", value: "NAME", help: "the database (default: the one of the URL, or the server's)"),
        ] + accessOptions

    /// Who asks, and whom they trust.
    static let accessOptions: [Arguments.Option] = [
        .init(
            name: "context", value: "NAME",
            help: "the server and the key that 'hearth context add' has remembered under this name"),
        .init(
            name: "auth", value: "TOKEN", isSecret: true,
            help: "who asks: a user's ID token, or an administrator's access token"),
        .init(name: "key", value: "FILE", help: "who asks: an administrator's key, of 'hearth admin create-key'"),
        .init(name: "any-server", value: nil, help: "use --key at a server that it is not for"),
        .init(name: "ca", value: "FILE", help: "the authorities to trust over TLS, as PEM (default: the system's)"),
    ]

    private(set) var url: DatabaseURL
    /// Nil for somebody signed out.
    let credential: Credential?
    let options: ConnectionOptions

    init(_ arguments: Arguments) throws(UsageError) {
        try self.init(arguments, url: arguments["url"], named: "--url")
    }

    /// - parameters:
    ///   - text: nil for the server that the key names, or else the usual one.
    ///   - name: where the URL comes from, for messages.
    init(_ arguments: Arguments, url text: String?, named name: String) throws(UsageError) {
        let context = try Self.context(arguments, isServerNamed: text?.isEmpty == false)
        let arguments = arguments.filled(context)
        let text = text?.isEmpty == false ? text : context.first { $0.option == "url" }?.value
        credential = try ServerAddress.credential(arguments)
        options = try ServerAddress.options(arguments)
        // An empty environment variable counts as not set.
        switch (text?.isEmpty == false ? text : nil, credential) {
        case (let text?, let credential):
            url = try ServerAddress.url(text, name)
            if case .key(let key)? = credential { try ServerAddress.check(key, at: url, name, arguments) }
        case (nil, .key(let key)?): url = try ServerAddress.url(key.server, "token_uri of \(arguments["key"] ?? "")")
        case (nil, _): url = try ServerAddress.url(ServerAddress.usual, name)
        }
        if let database = arguments["database"] { url.database = database }
    }

    /// The context that a command names, or the current one if it names neither a server nor a credential. A key is not
    /// used for a server that was named with it.
    static func context(
        _ arguments: Arguments, isServerNamed: Bool
    ) throws(UsageError) -> ContextFile.Context {
        func isGiven(_ option: String) -> Bool { arguments[option]?.isEmpty == false }
        let name = isGiven("context") ? arguments["context"] : nil
        if name != nil, isServerNamed || isGiven("key") {
            throw UsageError(message: "--context names the server and its key: leave out the URL and --key")
        }
        if name == nil, isServerNamed || isGiven("key") || isGiven("auth") { return [] }
        guard let path = ContextFile.usualPath else {
            guard let name else { return [] }
            throw UsageError(message: "there is no home for the context '\(name)': HEARTH_CONTEXTS names the file")
        }
        do throws(ContextFile.Failure) {
            let file = try ContextFile(path)
            guard let name = name ?? file.current else { return [] }
            let context = try file.context(named: name)
            return isGiven("auth") ? context.filter { $0.option != "key" } : context
        } catch {
            throw UsageError(message: error.description, hasHelp: false)
        }
    }

    /// Throws if the key is for another server: this server could steal its tokens, and changes for one database would
    /// be made in another.
    private static func check(
        _ key: ServiceAccountKey, at url: DatabaseURL, _ name: String, _ arguments: Arguments
    ) throws(UsageError) {
        let home = try self.url(key.server, "token_uri of \(arguments["key"] ?? "")")
        if arguments.flag("any-server") || home.isSameServer(as: url) { return }
        throw UsageError(
            message: "\(arguments["key"] ?? "") is a key of \(home), and \(name) names \(url): leave out one of them, "
                + "or add --any-server if the key is meant for both")
    }

    /// The place that `place` names: a path, or a URL with a path in the place of `--url`.
    init(_ arguments: Arguments, at place: String) throws(UsageError) {
        guard place.contains("://") else {
            try self.init(arguments)
            url.path = try path(place)
            return
        }
        try self.init(arguments, url: place, named: "'\(place)'")
    }

    /// The server that the first word names if it is a URL, which is removed. Otherwise the one of `--url`.
    init(_ arguments: Arguments, takingURLFrom words: inout [String]) throws(UsageError) {
        guard let first = words.first, first.contains("://") else {
            try self.init(arguments)
            return
        }
        words.removeFirst()
        if arguments.isOnLine("url") {
            throw UsageError(message: "'\(first)' and --url both name the server: leave out one of them")
        }
        try self.init(arguments, url: first, named: "'\(first)'")
    }

    private static func url(_ text: String, _ name: String) throws(UsageError) -> DatabaseURL {
        do throws(DatabaseURLError) {
            return try DatabaseURL(text)
        } catch {
            throw UsageError(message: "\(name): \(error.reason)")
        }
    }

    private static func options(_ arguments: Arguments) throws(UsageError) -> ConnectionOptions {
        var options = ConnectionOptions()
        guard let file = arguments["ca"], !file.isEmpty else { return options }
        do throws(TLSError) { options.authorities = try TLSContext.client(trusting: .file(file)) } catch {
            throw UsageError(message: "--ca: \(error)")
        }
        return options
    }

    private static func credential(_ arguments: Arguments) throws(UsageError) -> Credential? {
        // An empty environment variable counts as not set.
        let (token, file) = (arguments["auth"] ?? "", arguments["key"] ?? "")
        if file.isEmpty { return token.isEmpty ? nil : .token(Array(token.utf8)) }
        guard token.isEmpty else { throw UsageError(message: "use --auth or --key, not both") }
        guard let text = FileBytes.read(file) else { throw UsageError(message: "cannot read \(file)") }
        do throws(ServiceAccountKey.Failure) {
            return .key(try ServiceAccountKey(text))
        } catch { throw UsageError(message: "\(file): \(error)") }
    }

    /// The place that a PATH on the command line names, below the one of the URL.
    private func path(_ text: String) throws(UsageError) -> Path {
        // A script whose variable is not set had better not replace everything.
        if text.isEmpty { throw UsageError(message: "the path is empty: / is the whole database") }
        do throws(PathError) {
            let path = url.path.appending(try Path(parsing: Array(text.utf8)))
            guard path.depth <= Path.maximumDepth else { throw .tooDeep }
            return path
        } catch {
            throw UsageError(message: "invalid path '\(text)': \(error)")
        }
    }
}
