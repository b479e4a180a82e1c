import HearthSQLite
import HearthStorageErrors

/// Replacing all rows by those that other nodes have. The file remembers what its users had, because the commits that
/// took it away are missing.
extension AccountFile {
    /// What decides whether the sessions of a user hold.
    struct Standing {
        var flags: Int64
        var validSince: Int64
    }

    /// Begins to replace all rows by others. May be called again before that has come to its end.
    func clear() throws(StorageError) {
        try connection.transaction { () throws(StorageError) in
            try connection.execute("INSERT OR IGNORE INTO replaced SELECT realm, id, flags, validSince FROM users")
            for table in AccountTable.allCases { try connection.execute("DELETE FROM \(table.rawValue)") }
            try connection.execute("DELETE FROM changed")
            try set(SharedCommit.Place())
        }
    }

    /// Ends the replacement. Answers the revocations that it makes.
    func finishReplacing() throws(StorageError) -> [Revocation] {
        let select = try connection.prepare(
            """
            SELECT replaced.*, users.flags, users.validSince
            FROM replaced LEFT JOIN users ON users.realm = replaced.realm AND users.id = replaced.id
            WHERE users.flags IS NOT replaced.flags OR users.validSince IS NOT replaced.validSince
            """)
        var revocations: [Revocation] = []
        while try select.step() {
            let after =
                select.isNull(4) ? nil : Standing(flags: select.integer(4), validSince: select.integer(5))
            revocations += Self.revocation(
                of: select.text(1), in: Realm(key: select.text(0)),
                Standing(flags: select.integer(2), validSince: select.integer(3)), after)
        }
        try connection.execute("DELETE FROM replaced")
        return revocations
    }

    /// The revocation when a user's standing has changed; nil if the user is gone.
    static func revocation(
        of user: String, in realm: Realm, _ before: Standing, _ after: Standing?
    ) -> [Revocation] {
        func revocation(_ loss: Revocation.Loss, isRenewal: Bool = false) -> [Revocation] {
            [Revocation(realm: realm, user: user, loss: loss, isRenewal: isRenewal)]
        }
        guard let after else { return revocation(.account) }
        if isDisabled(flags: after.flags), !isDisabled(flags: before.flags) { return revocation(.disabled) }
        guard after.validSince > before.validSince else { return [] }
        return revocation(.tokensBefore(after.validSince), isRenewal: hasRenewedTokens(flags: after.flags))
    }
}
