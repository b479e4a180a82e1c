import HearthJSONTree
import HearthTreeText
import HearthTreeQueries

/// The server's state of a job: `{"at":…,"attempts":…,"claim":…,"error":…,"until":…,"worker":…}`. A job that was never
/// handed out has none.
struct JobState: Equatable {
    /// How often it was handed out.
    var attempts = 0
    /// The number of the claim by which a worker has it, and when that ends, in milliseconds since 1970.
    var lease: Lease?
    /// When it may be handed out again, in milliseconds since 1970, if no worker has it.
    var at: Int64?
    /// Why it failed last, or null.
    var error = CanonicalJSON.null

    struct Lease: Equatable {
        var claim: Int64
        var until: Int64
        /// The user's ID; null without a user and for administrators.
        var worker: CanonicalJSON

        init(claim: Int64, until: Int64, worker: CanonicalJSON) {
            self.claim = claim
            self.until = until
            self.worker = worker
        }

        init(claim: Int64, until: Int64, uid: [UInt8]) {
            self.init(claim: claim, until: until, worker: uid.isEmpty ? .null : CanonicalJSON(string: uid))
        }
    }

    init() {}

    init(_ json: CanonicalJSON) {
        if let number = Self.integer(json, "attempts") { attempts = Int(min(max(number, 0), 1 << 31)) }
        if let claim = Self.integer(json, "claim"), let until = Self.integer(json, "until") {
            let worker = json.value(at: Self.member("worker"))
            lease = Lease(claim: claim, until: until, worker: worker.isLeaf ? worker : .null)
        }
        at = Self.integer(json, "at")
        error = json.value(at: Self.member("error"))
        if !error.isLeaf { error = .null }
    }

    var json: CanonicalJSON {
        var members: [(StaticString, CanonicalJSON)] = []
        if let at { members.append(("at", CanonicalJSON(integer: at))) }
        if attempts > 0 { members.append(("attempts", CanonicalJSON(integer: Int64(attempts)))) }
        if let lease { members.append(("claim", CanonicalJSON(integer: lease.claim))) }
        if !error.isNull { members.append(("error", error)) }
        if let lease {
            members.append(("until", CanonicalJSON(integer: lease.until)))
            members.append(("worker", lease.worker))
        }
        return CanonicalJSON.object(members)
    }

    private static func member(_ name: StaticString) -> Path { Path(child: name) }

    private static func integer(_ json: CanonicalJSON, _ name: StaticString) -> Int64? {
        guard let range = json.range(of: member(name)) else { return nil }
        switch json.number(in: range) {
        case .integer(let value): return value
        case .double, nil: return nil
        }
    }
}

extension CanonicalJSON {
    /// An object; nulls are left out. The names are in key order and need no escapes.
    static func object(_ members: [(name: StaticString, value: CanonicalJSON)]) -> CanonicalJSON {
        var text: [UInt8] = []
        for (name, value) in members where !value.isNull {
            text += text.isEmpty ? "{\"".utf8 : ",\"".utf8
            text += name.description.utf8
            text += "\":".utf8
            text += value.bytes
        }
        return text.isEmpty ? .null : CanonicalJSON(trusted: text + [UInt8(ascii: "}")])
    }
}
