import HearthBytes
package import HearthJSONTree
import HearthTreeQueries
import HearthTreeText
import HearthSecurityRules
import HearthStorageErrors

/// Limits of rates (docs/using/additions.md 6). A request is counted when all else allows it; one that is refused costs
/// nothing. Administrators are not limited.
extension Database {
    /// Keys longer than this are hashed.
    private static let keyBytesMax = 64

    /// Whether the rates of some clients must be remembered: they do not have their whole burst.
    package func remembersRates(at now: Int64) -> Bool { now < rates.restsFrom }

    /// Counts a read, or the start of a listener. Throws if it comes too soon.
    func count(_ measure: RateLimit.Measure, at path: Path, in turn: borrowing Turn) throws(Failure) {
        if indexes.settings.rateLimits.isEmpty || turn.principal.isAdministrator { return }
        try take(charges(measure, at: path, by: turn.principal, turn.client), now: turn.record.time)
    }

    /// Counts a read that no turn makes.
    func countRead(at path: Path, by principal: Principal, from client: UInt64, now: Int64) throws(Failure) {
        if indexes.settings.rateLimits.isEmpty { return }
        try take(charges(.read, at: path, by: principal, client), now: now)
    }

    /// Counts the bytes of a value that is read, before it is sent. Throws if they are too many now.
    func countBytesRead(_ bytes: Int, at path: Path, in turn: borrowing Turn) throws(Failure) {
        try countBytesRead(bytes, at: path, by: turn.principal, from: turn.client, now: turn.record.time)
    }

    /// The same for a read that no turn makes.
    package func countBytesRead(
        _ bytes: Int, at path: Path, by principal: Principal, from client: UInt64, now: Int64
    ) throws(Failure) {
        if bytes == 0 || indexes.settings.rateLimits.isEmpty || principal.isAdministrator { return }
        try take(charges(.bytesRead, at: path, cost: bytes, by: principal, client), now: now)
    }

    /// Whether bytes that somebody reads at a path are counted. A value must be known then before it is sent.
    func countsBytesRead(at path: Path, by principal: Principal) -> Bool {
        if indexes.settings.rateLimits.isEmpty || principal.isAdministrator { return false }
        return indexes.settings.rateLimits.contains { $0.measure == .bytesRead && $0.pattern.concerns(path) }
    }

    // MARK: Pushes to listeners

    /// Whether the settings limit bytes that are read anywhere: then it has to be known who is told of a change.
    var countsToldBytes: Bool { indexes.settings.rateLimits.contains { $0.measure == .bytesRead } }

    /// Counts the bytes of a change for its listeners. A listener above its limit is still told, because its data would
    /// be out of date otherwise. One look-up for each listener, if bytes read are limited.
    func countTold(_ change: Change, to address: GroupAddress, in turn: borrowing Turn) {
        guard let members = listeners.members?[address.group] else { return }
        countTold(change.byteCountRead, at: change.base, members, now: turn.record.time)
    }

    func countTold(_ push: QueryPush, to address: GroupAddress, in turn: borrowing Turn) {
        guard let members = listeners.members?[address.group] else { return }
        switch push.content {
        case .change(let change): countTold(change.byteCountRead, at: change.base, members, now: turn.record.time)
        case .events(let events):
            let bytes = events.reduce(0) { $0 + $1.byteCountRead }
            countTold(bytes, at: push.path, members, now: turn.record.time)
        }
    }

    private func countTold(_ bytes: Int, at path: Path, _ members: Set<ConnectionID>, now: Int64) {
        let isConcern = indexes.settings.rateLimits.contains { $0.measure == .bytesRead && $0.pattern.concerns(path) }
        if bytes == 0 || !isConcern { return }
        // In one order, as the table may have to forget some.
        for connection in members.sorted(by: { $0.raw < $1.raw }) {
            guard let session = listeners.sessions[connection], !session.principal.isAdministrator else { continue }
            let charges = charges(.bytesRead, at: path, cost: bytes, by: session.principal, session.client)
            rates.add(charges, now: now)
        }
    }

    // MARK: Writes

    /// What a write costs, which is to be added to the rates once it is made: until then, a setting may refuse it.
    /// Throws if it comes too soon.
    func checkRate(of assignments: [Assignment], in turn: borrowing Turn) throws(Failure) -> [RateTable.Charge] {
        if indexes.settings.rateLimits.isEmpty || turn.principal.isAdministrator { return [] }
        let charges = charges(assignments, by: turn.principal, turn.client)
        try check(charges, now: turn.record.time)
        return charges
    }

    /// Whether a read or a listener would be refused now. Counts nothing.
    func exceedsRate(_ measure: RateLimit.Measure, at path: Path, for request: Request, now: Int64) -> Bool {
        if indexes.settings.rateLimits.isEmpty || request.principal.isAdministrator { return false }
        return rates.excess(charges(measure, at: path, by: request.principal, request.client), now: now) != nil
    }

    private func take(_ charges: [RateTable.Charge], now: Int64) throws(Failure) {
        try check(charges, now: now)
        rates.add(charges, now: now)
    }

    private func check(_ charges: [RateTable.Charge], now: Int64) throws(Failure) {
        if let excess = rates.excess(charges, now: now) {
            throw .rateExceeded(retryAfter: excess.retryAfter, Self.text(excess))
        }
    }

    private static func text(_ excess: RateTable.Excess) -> String {
        let limit = excess.limit
        let place = "\"/\(limit.pattern.text)\""
        let things =
            switch limit.measure {
            case .write: "writes"
            case .read: "reads"
            case .listen: "listeners"
            case .bytes, .bytesRead: "bytes"
            }
        guard let milliseconds = excess.retryAfter else {
            return "More than \(limit.burst) \(things) at once are never allowed at \(place)"
        }
        return "Too many \(things) at \(place): try again in \(milliseconds) ms"
    }

    // MARK: Charges

    private func charges(
        _ measure: RateLimit.Measure, at path: Path, cost: Int = 1, by principal: Principal, _ client: UInt64
    ) -> [RateTable.Charge] {
        var charges: [RateTable.Charge] = []
        for (number, limit) in indexes.settings.rateLimits.enumerated()
        where limit.measure == measure && limit.pattern.concerns(path) {
            let key = Self.key(number, limit, path, principal, client)
            charges.append(RateTable.Charge(limit: limit, key: key, cost: cost))
        }
        return charges
    }

    private func charges(
        _ assignments: [Assignment], by principal: Principal, _ client: UInt64
    ) -> [RateTable.Charge] {
        var charges: [RateTable.Charge] = []
        for (number, limit) in indexes.settings.rateLimits.enumerated()
        where limit.measure == .write || limit.measure == .bytes {
            var known: [[UInt8]: Int] = [:]
            for assignment in assignments {
                limit.pattern.forEachPlace(concernedBy: assignment) { place, isInValue in
                    let cost =
                        limit.measure == .write ? 1 : Self.byteCount(of: assignment, at: isInValue ? place : nil)
                    let key = Self.key(number, limit, place, principal, client)
                    if let index = known[key] {
                        charges[index].cost += cost
                    } else {
                        known[key] = charges.count
                        charges.append(RateTable.Charge(limit: limit, key: key, cost: cost))
                    }
                }
            }
        }
        return charges
    }

    /// Bytes of text of the value, or of a part of it. Nothing has none.
    private static func byteCount(of assignment: Assignment, at place: Path?) -> Int {
        let value = assignment.value
        guard let place else { return value.isNull ? 0 : value.bytes.count }
        return place.suffix(after: assignment.target.path).flatMap { value.range(of: $0)?.count } ?? 0
    }

    private static func key(
        _ number: Int, _ limit: RateLimit, _ path: Path, _ principal: Principal, _ client: UInt64
    ) -> [UInt8] {
        var key = Array("\(number)".utf8)
        for subject in limit.subjects {
            switch subject {
            case .claim(let keys):
                if let claim = principal.auth?.claim(keys) {
                    key += "c\(claim.count):".utf8
                    key += claim
                } else {
                    key += "a\(client)".utf8
                }
            case .address: key += "a\(client)".utf8
            case .key(let depth):
                var segments = path.segments
                var range = segments.next()
                for _ in 0..<depth { range = segments.next() }
                let segment = range.map { path.encoded[$0] } ?? []
                key += "k\(segment.count):".utf8
                key += segment
            }
        }
        if key.count <= keyBytesMax { return key }
        var hash = SHA1()
        key.withUnsafeBytes { hash.update($0) }
        let digest = hash.finish()
        return digest.indices.map { digest[$0] }
    }
}

extension CanonicalJSON {
    /// The bytes that it counts as for a reader; 0 if it does not exist.
    package var byteCountRead: Int { isNull ? 0 : bytes.count }
}

extension Change {
    /// The bytes that it counts as for listeners.
    var byteCountRead: Int {
        switch self {
        case .set(let assignment): assignment.value.byteCountRead
        case .merge(_, let assignments): assignments.reduce(0) { $0 + $1.value.byteCountRead }
        case .setChildren(of: _, let children): children.byteCountRead
        }
    }
}

extension QueryEvent {
    fileprivate var byteCountRead: Int {
        switch self {
        case .child(_, key: _, let value, previous: _), .value(let value): value.byteCountRead
        }
    }
}

extension KnownData.Missing {
    /// Bytes that a listener is told to begin with.
    func byteCount(of value: CanonicalJSON) -> Int {
        switch self {
        case .nothing: 0
        case .everything: value.byteCountRead
        case .parts(let parts): parts.reduce(0) { $0 + $1.value.byteCountRead }
        }
    }
}
