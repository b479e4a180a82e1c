import HearthAdministration
import HearthHTTPCodec
import HearthServerCodecs
import HearthAccountEndpoints
import HearthREST

/// The requests that a listener answers.
package enum ListenerRole: Sendable {
    case clients
    /// Clients as well.
    case administrators
    /// Metrics, without a credential, and health; nothing else.
    case metrics
}

/// Where a request goes.
enum Route: Equatable {
    /// `/healthz`: the process is alive.
    case health
    /// `/readyz`: it takes all requests, or says why not.
    case readiness
    /// `/metrics`
    case metrics
    /// `/path.json`, or `/path/.upload` for a form with a file
    case data
    /// The names of the databases, for tools (rest.md 1).
    case databases
    /// `/.settings/….json`
    case settings
    /// A browser's preflight request (CORS).
    case preflight
    /// `/.ws` without the handshake of a WebSocket.
    case notWebSocket
    /// `/.lp`
    case longPoll
    /// Accounts.
    case identity(IdentityRoute)
    /// `/console/NAME`: a file of the console, for the browsers of administrators.
    case console(name: String)
    case unknown

    /// - parameters:
    ///   - servesAccounts: their endpoints are there.
    ///   - role: the requests that the listener answers. Elsewhere the places of administrators are unknown to all
    ///     callers.
    init(_ head: RequestHead, servesAccounts: Bool = false, role: ListenerRole = .administrators) {
        self.init(head, servesAccounts)
        let isServed =
            switch role {
            case .clients: !isAdministrative
            case .administrators: true
            case .metrics: self == .metrics || self == .health || self == .readiness
            }
        if !isServed { self = .unknown }
    }

    private init(_ head: RequestHead, _ servesAccounts: Bool) {
        let path = head.path
        if head.method == .options {
            self = .preflight
        } else if servesAccounts, let route = IdentityRoute(head) {
            self = .identity(route)
        } else if let name = head.consoleFile {
            self = .console(name: name)
        } else if path.elementsEqual("/healthz".utf8) {
            self = .health
        } else if path.elementsEqual("/readyz".utf8) {
            self = .readiness
        } else if path.elementsEqual("/metrics".utf8) {
            self = .metrics
        } else if path.elementsEqual("/.ws".utf8) {
            self = .notWebSocket
        } else if head.isLongPoll {
            self = .longPoll
        } else if let place = AdminPlace(head) {
            self = place == .databases ? .databases : .settings
        } else if head.isUpload {
            self = .data
        } else if !path.suffix(5).elementsEqual(".json".utf8) || path.starts(with: "/.inspect/".utf8) {
            self = .unknown
        } else {
            self = .data
        }
    }

    private var isAdministrative: Bool {
        switch self {
        case .databases, .settings, .metrics, .console: true
        case .identity(let route): route.isAdministrative
        default: false
        }
    }

    /// Whether the place answers nothing but GET and HEAD.
    var isReadOnly: Bool {
        switch self {
        case .health, .readiness, .databases, .metrics, .console: true
        default: false
        }
    }
}

extension RequestHead {
    /// The path after `/console/`; empty for the page. Nil for other paths, also for data below `/console`.
    fileprivate var consoleFile: String? {
        let folder = Array("/console".utf8)
        guard path.starts(with: folder) else { return nil }
        let rest = path.dropFirst(folder.count)
        if rest.isEmpty { return "" }
        guard rest.first == UInt8(ascii: "/") else { return nil }
        let name = String(decoding: rest.dropFirst(), as: UTF8.self)
        return name.hasSuffix(".json") ? nil : name
    }
}
