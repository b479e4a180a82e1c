import HearthIdentity
import HearthJSONValues
import Synchronization

/// The codes that were made last, as tools of the development ask for them (accounts.md 7).
final class IssuedCodes: Sendable {
    private struct Entry {
        let realm: Realm
        let members: JSONObject
    }

    private let entries = Mutex<[Entry]>([])
    private static let countMax = 1000

    func add(_ issued: IssuedCode, link: String, in realm: Realm) {
        let code = issued.code
        let members = JSONObject([
            "email": .text(code.email), "requestType": .text(code.kind.rawValue), "oobCode": .text(issued.text),
            "oobLink": .text(link), "newEmail": code.newEmail.map { .text($0) },
        ])
        entries.withLock { entries in
            if entries.count == Self.countMax { entries.removeFirst() }
            entries.append(Entry(realm: realm, members: members))
        }
    }

    func codes(in realm: Realm) -> [JSONObject] {
        entries.withLock { $0.filter { $0.realm == realm }.map(\.members) }
    }

    func removeAll(in realm: Realm) { entries.withLock { $0.removeAll { $0.realm == realm } } }

    /// When it has been used.
    func remove(_ text: String) { entries.withLock { $0.removeAll { $0.members["oobCode"]?.isText(text) == true } } }
}
