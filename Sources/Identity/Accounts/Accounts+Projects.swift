import HearthJSONValues
import HearthJSONWebTokens
import HearthSQLite
import HearthSystem

/// The projects of clients, in development mode (accounts.md 3).
extension Accounts {
    /// Takes up that somebody names a project. Waits for the disk if that is new.
    package func learn(_ naming: ClientProjects.Naming) throws(AccountFailure) {
        guard let lesson = projects.learn(naming) else { return }
        let current = projects.current
        let failure = try thread.run { (file) throws(AccountFailure) -> PrivateFile.Failure? in
            if let unnamed = lesson.adopts, try !file.projects().contains(current) {
                try file.rename(project: unnamed, to: current)
                self.projects.forget(unnamed)
            }
            do throws(PrivateFile.Failure) {
                try self.projects.save()
                return nil
            } catch { return error }
        }
        if let failure { throw .failed("\(failure)") }
    }

    /// The project in a client's ID token, which is not verified yet: only to find the realm in which it is verified.
    /// Nil if it is not a project of this server.
    package func project(of idToken: [UInt8]) -> String? {
        guard let token = try? JSONWebToken(parsing: idToken), let project = token.claims["aud"]?.text,
            projects.knows(project)
        else { return nil }
        return project
    }

    /// The project that a one-time code is of; nil for an unknown code.
    package func project(ofCode code: String) throws(AccountFailure) -> String? {
        try thread.run { (file) throws(AccountFailure) in try file.realm(ofCode: OneTimeCode.hash(code))?.project }
    }

    /// The project of a client that names a user, or none: that of its app, the current one if the user has an account
    /// in it, or the only one in which the user has an account. Nil for the current one.
    ///
    /// - parameters:
    ///   - email: of a user who has an account; nil for one who need not have any.
    ///   - key: of the app.
    ///   - app: by which SDKs tell apps apart.
    package func project(
        ofUser email: String?, tenant: String?, key: String?, app: String?
    ) throws(AccountFailure) -> String? {
        guard projects.isLearning else { return nil }
        if let project = projects.project(key: key, app: app) { return project }
        guard let email = email?.lowercased() else { return nil }
        let found = try thread.run { (file) throws(AccountFailure) in try file.realms(ofEmail: email) }
        let names = found.filter { $0.tenant == tenant }.map(\.project)
        return names.count == 1 && !names.contains(projects.current) ? names[0] : nil
    }
}

extension AccountFile {
    /// Those that have accounts.
    func projects() throws(AccountFailure) -> Set<String> {
        Set(try rows("SELECT DISTINCT realm FROM users", []) { Realm(key: $0.text(0)).project })
    }

    fileprivate func realm(ofCode hash: [UInt8]) throws(AccountFailure) -> Realm? {
        try rows("SELECT realm FROM codes WHERE hash = ?", [.blob(hash)]) { Realm(key: $0.text(0)) }.first
    }

    fileprivate func realms(ofEmail email: String) throws(AccountFailure) -> [Realm] {
        try rows("SELECT realm FROM users WHERE email = ?", [.text(email)]) { Realm(key: $0.text(0)) }
    }

    /// Gives all accounts of a project, and of its tenants, to another one, which has none.
    fileprivate func rename(project: String, to name: String) throws(AccountFailure) {
        for table in AccountTable.allCases {
            let (theirs, renamed) = (
                "(realm = ?2 OR substr(realm, 1, length(?2) + 1) = ?2 || '/')",
                "?1 || substr(realm, length(?2) + 1)"
            )
            // Damaged rows stay.
            let sql = """
                UPDATE \(table.rawValue) SET realm = \(renamed),
                checksum = CASE WHEN \(table.isIntact) THEN \(table.checksum(with: ["realm": renamed])) END
                WHERE \(theirs)
                """
            try run(sql, [.text(name), .text(project)])
        }
    }
}
