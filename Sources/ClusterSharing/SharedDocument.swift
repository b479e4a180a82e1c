import HearthDatabaseHost
import HearthIdentity
import HearthJSONWebTokens
import HearthSecurityRules
import HearthSystem
import HearthTreeStorage

/// One of the small texts that all nodes of a cluster have, and its form at a node.
package struct SharedDocument: Sendable {
    /// Why a text could not be taken over, for people.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Letters, digits and `-_:`.
    let name: String
    /// Only nodes may read it.
    var isSecret = false
    /// Changes in the node's file are told to the others even if the process has ended before it could: the text of the
    /// cluster that they were made in is on disk.
    private(set) var keepsBase = false
    /// The text of this node; nil if it has none.
    let read: @Sendable () -> [UInt8]?
    /// Takes over the text of the cluster.
    let adopt: @Sendable ([UInt8]) throws(Failure) -> Void
    /// Makes one text of that of this node, which was changed here, and that of the cluster, which was changed
    /// elsewhere. `base` is the one before both.
    var merge: @Sendable (_ base: [UInt8], _ own: [UInt8], _ shared: [UInt8]) -> [UInt8] = { _, own, _ in own }

    private init(
        _ name: String, isSecret: Bool = false, read: @escaping @Sendable () -> [UInt8]?,
        adopt: @escaping @Sendable ([UInt8]) throws(Failure) -> Void
    ) {
        self.name = name
        self.isSecret = isSecret
        self.read = read
        self.adopt = adopt
    }

    /// The keys that sign tokens, with their private halves.
    static func signingKeys(_ keys: KeyStore) -> SharedDocument {
        SharedDocument("signing-keys", isSecret: true) {
            keys.fileText
        } adopt: { (text) throws(Failure) in
            do throws(KeyStoreError) { try keys.adopt(text) } catch { throw Failure(description: "\(error)") }
        }
    }

    /// The public keys of administrators' programs. Keys that were added and removed at several nodes at a time all
    /// are.
    static func serviceAccounts(_ accounts: ServiceAccounts) -> SharedDocument {
        var document = SharedDocument("service-accounts") {
            accounts.fileText
        } adopt: { (text) throws(Failure) in
            do throws(KeyStoreError) { try accounts.adopt(text) } catch { throw Failure(description: "\(error)") }
        }
        document.merge = { ServiceAccounts.merge(base: $0, own: $1, shared: $2) }
        document.keepsBase = true
        return document
    }

    static func openIDProviders(_ providers: ProviderDirectory) -> SharedDocument {
        // Without a base: the text as a whole would undo what others have changed since.
        SharedDocument("openid-providers") {
            providers.fileText
        } adopt: { (text) throws(Failure) in
            do throws(KeyStoreError) { try providers.adopt(text) } catch { throw Failure(description: "\(error)") }
        }
    }

    private static let rulesPrefix = "rules:"
    private static let settingsPrefix = "settings:"

    package static func rulesName(_ database: String) -> String { rulesPrefix + database }
    package static func settingsName(_ database: String) -> String { settingsPrefix + database }

    /// The rules or the settings that a database has of its own; nil if the name is that of something else.
    static func rulesOrSettings(
        _ name: String, _ rules: RulesInForce, changed: @escaping @Sendable (_ database: String) -> Void
    ) -> SharedDocument? {
        guard var document = made(name, rules, changed) else { return nil }
        // They change through the cluster alone. Others here are those that could not be replaced.
        document.merge = { _, _, shared in shared }
        return document
    }

    private static func made(
        _ name: String, _ rules: RulesInForce, _ changed: @escaping @Sendable (_ database: String) -> Void
    ) -> SharedDocument? {
        if let database = name.dropping(rulesPrefix) {
            return SharedDocument(name) {
                rules.ownRules(of: database)?.file
            } adopt: { (text) throws(Failure) in
                try take { () throws in try rules.set(try RulesProgram(parsing: text), for: database) }
                changed(database)
            }
        }
        if let database = name.dropping(settingsPrefix) {
            return SharedDocument(name) {
                rules.ownSettings(of: database)?.file
            } adopt: { (text) throws(Failure) in
                try take { () throws in try rules.set(try DatabaseSettings(parsing: text), for: database) }
                changed(database)
            }
        }
        return nil
    }

    /// The database whose rules a document has; nil for other documents.
    static func database(ofRules name: String) -> String? { name.dropping(rulesPrefix) }

    /// Takes over both in one step.
    static func adopt(
        rules text: [UInt8], settings: [UInt8], of database: String, _ rules: RulesInForce
    ) throws(Failure) {
        try take { () throws in
            try rules.set(
                try RulesProgram(parsing: text), try DatabaseSettings(parsing: settings), for: database)
        }
    }

    private static func take(_ body: () throws -> Void) throws(Failure) {
        do { try body() } catch { throw Failure(description: "\(error)") }
    }
}

extension String {
    /// The rest after a prefix, if it is a possible name of a database.
    fileprivate func dropping(_ prefix: String) -> String? {
        guard hasPrefix(prefix) else { return nil }
        let rest = String(dropFirst(prefix.count))
        return DatabaseName.isValid(rest) ? rest : nil
    }
}
