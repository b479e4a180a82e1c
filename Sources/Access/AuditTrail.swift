import HearthIdentity
package import HearthServerLog
import Synchronization
package import HearthSystem

/// Something that an operator wants to look up after an attack: who got in, who tried, and who changed the permissions.
/// Its fields hold no password, token or code.
package struct AuditEvent: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case signedUp = "auth.signed-up"
        case signedIn = "auth.signed-in"
        case signInFailed = "auth.sign-in-failed"
        /// There were too many attempts.
        case lockedOut = "auth.locked-out"
        /// How a user signs in.
        case methodsChanged = "auth.methods-changed"
        /// A user has lost the account or tokens.
        case revoked = "auth.revoked"
        case accessTokenGiven = "auth.access-token-given"
        case accessTokenRefused = "auth.access-token-refused"
        /// An administrator has changed accounts, or read secret parts of them.
        case accounts = "admin.accounts"
        case keys = "admin.keys"
        case rules = "admin.rules"
        case settings = "admin.settings"
        /// An administrator has written data. Only where the trail has a file of its own.
        case data = "admin.data"
        /// A client without an administrator's credential made an administrator's request.
        case denied = "admin.denied"

        /// Strangers can cause as many as they like.
        fileprivate var isUnbounded: Bool {
            switch self {
            case .signInFailed, .lockedOut, .accessTokenRefused, .denied: true
            default: false
            }
        }
    }

    var kind: Kind
    /// The network address of the caller, by which attempts are counted; nil if there was none.
    var client: String?
    var fields: [(StaticString, String)]

    package init(_ kind: Kind, client: String? = nil, _ fields: [(StaticString, String?)]) {
        self.kind = kind
        self.client = client
        self.fields = fields.compactMap { name, value in value.map { (name, $0) } }
    }
}

/// Where these events go. Any thread.
package struct AuditTrail: Sendable {
    private let write: @Sendable (AuditEvent) -> Void
    private let counter = Counter()
    private var file: AuditFile?

    init(_ write: @escaping @Sendable (AuditEvent) -> Void) { self.write = write }

    /// To a file, or else to the log. Of events that strangers can cause, no more than `eventsMax` of a kind for each
    /// client's address in 15 minutes.
    package init(_ log: Log, file: AuditFile? = nil, eventsMax: Int = 300) {
        let write: @Sendable (String, [(StaticString, String)]) -> Void = { event, fields in
            guard let file else { return log.info(event: event, fields) }
            let time = Timestamp(milliseconds: WallClock.milliseconds)
            do throws(SystemError) {
                try file.append(Log.jsonLine(time, nil, event, fields))
            } catch {
                // It is not lost as long as the log takes it.
                log.error("audit.write-failed", [("error", "\(error)")])
                log.info(event: event, fields)
            }
        }
        let limiter = AttemptLimiter(windowMilliseconds: 15 * 60_000, keysMax: 10_000)
        self.init { event in
            if event.kind.isUnbounded {
                let (key, now) = ("\(event.kind.rawValue) \(event.client ?? "")", WallClock.milliseconds)
                guard limiter.admit(key, max: eventsMax, now: now) else {
                    if limiter.admit("more \(key)", max: 1, now: now) {
                        write(
                            "auth.more-not-shown",
                            [("event-kind", event.kind.rawValue), ("client", event.client ?? "")])
                    }
                    return
                }
            }
            var fields = event.fields
            if let client = event.client { fields.insert(("client", client), at: 0) }
            write(event.kind.rawValue, fields)
        }
        self.file = file
    }

    package func note(_ event: AuditEvent) {
        counter.add(event.kind)
        write(event)
    }

    /// Whether writes of administrators are to be noted: a backend may make very many.
    package var notesData: Bool { file != nil }

    /// Continues with a new file if the old one was renamed.
    package func reopen() throws(SystemError) { try file?.reopen() }

    /// How many events there were of each kind, also of those that were not written.
    package var counts: [(kind: AuditEvent.Kind, count: Int64)] { counter.counts }

    private final class Counter: Sendable {
        private let state = Mutex<[AuditEvent.Kind: Int64]>([:])

        var counts: [(kind: AuditEvent.Kind, count: Int64)] {
            state.withLock { counts in AuditEvent.Kind.allCases.map { ($0, counts[$0] ?? 0) } }
        }

        func add(_ kind: AuditEvent.Kind) { state.withLock { $0[kind, default: 0] += 1 } }
    }

    /// The keys of service accounts have changed.
    package func noteKeys(_ before: [String], _ now: [String]) {
        for name in now where !before.contains(name) { note(AuditEvent(.keys, [("added", name)])) }
        for name in before where !now.contains(name) { note(AuditEvent(.keys, [("removed", name)])) }
    }
}
