package import HearthEtcdGateway
import HearthReplicatedLog

/// One of the etcd clusters that keep the logs of a cluster of nodes.
package struct EtcdStore: Hashable, Sendable {
    package var name: String
    /// Never empty.
    package var members: [EtcdMember]

    package init(_ name: String, _ members: [EtcdMember]) {
        self.name = name
        self.members = members
    }

    /// The list of a cluster with one etcd cluster.
    package static func one(_ members: [EtcdMember]) -> [EtcdStore] { [EtcdStore(StoreDirectory.home, members)] }

    private static let nameBytesMax = 32

    /// Reads `etcd://HOST[:PORT],…`, and after it, with spaces between them, `NAME=etcd://HOST[:PORT],…` for each
    /// further one. The first one is called `home`, and says in
    /// which one the log of a database is (``StoreDirectory``).
    package static func list(_ text: String) throws(EtcdAddressError) -> [EtcdStore] {
        var stores: [EtcdStore] = []
        for (index, word) in text.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\n" }).enumerated() {
            let store: EtcdStore
            if index == 0 {
                store = EtcdStore(StoreDirectory.home, try EtcdMember.list(String(word)))
            } else {
                guard let sign = word.firstIndex(of: "="), isName(word[..<sign]) else {
                    throw EtcdAddressError(
                        "\(word) is not NAME=etcd://HOST,HOST, where NAME has 1 to \(nameBytesMax) letters, digits, -, "
                            + "_ and .")
                }
                let name = String(word[..<sign])
                if stores.contains(where: { $0.name == name }) {
                    throw EtcdAddressError(
                        "the name \(name) is taken: the first etcd cluster is called \(StoreDirectory.home)")
                }
                store = EtcdStore(name, try EtcdMember.list(String(word[word.index(after: sign)...])))
            }
            for member in store.members where stores.contains(where: { $0.members.contains(member) }) {
                throw EtcdAddressError("\(member) is named in two etcd clusters")
            }
            stores.append(store)
        }
        guard !stores.isEmpty else { throw EtcdAddressError("no member of etcd is named") }
        return stores
    }

    private static func isName(_ text: Substring) -> Bool {
        text.utf8.count <= nameBytesMax && NodeName.isValid(String(text))
    }
}

extension [EtcdStore] {
    /// As ``EtcdStore/list(_:)`` reads it.
    package var text: String {
        map { store in
            let members = store.members.map { "\($0)" }.joined(separator: ",")
            return (store.name == StoreDirectory.home ? "" : "\(store.name)=") + "etcd://\(members)"
        }.joined(separator: " ")
    }
}
