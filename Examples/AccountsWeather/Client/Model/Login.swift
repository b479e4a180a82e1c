import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import HearthSealing
import Observation

/// The user who may open the data on this device.
///
/// The user's name is in a settings file. The password is nowhere: the protected store holds a text that only the right
/// password opens. So signing in needs no network once somebody has signed in here.
@MainActor
@Observable
final class Login {
    /// The last user on this device; nil if there was none.
    private(set) var userName: String?
    /// The open vault.
    private(set) var vault: Vault?
    /// Why the server is not told of changes any more, although it can be reached.
    private(set) var sessionEnd: String?

    private let server: String
    private let startsOnline: Bool
    private let auth: Auth
    private let settings: SecretFile
    private let store: SecretFile
    /// A database of SQLite's.
    private let entriesFile: String

    private static let proof = "the password is right"

    /// - parameter file: the session's; the others are next to it.
    init(server: String, file: String, startsOnline: Bool = true) throws {
        (self.server, self.startsOnline) = (server, startsOnline)
        settings = SecretFile(path: file + ".settings")
        store = SecretFile(path: file + ".store")
        entriesFile = file + ".entries"
        var options = AuthOptions()
        options.sessionFile = file
        auth = try Auth(url: server, options: options)
        if let text = try settings.read() { userName = try DatabaseValue(json: text)["userName"].string }
    }

    /// Knows when the server ends the session, until the task is cancelled.
    func follow() async { for await _ in auth.stateChanges { noticeEnd() } }

    /// Learns whether the server has ended the session.
    func noticeEnd() {
        sessionEnd = auth.sessionEndError.map { "\($0). What is changed stays here: sign out and in again." }
    }

    /// Makes a login, here and on the server.
    ///
    /// - parameter confirmation: the password once more, if it was asked for twice.
    /// - throws: `FieldProblems` for `user`, `password` and `confirmation`; `AuthError`.
    func create(_ user: String, password: String, confirmation: String? = nil) async throws {
        let user = try checkedName(user)
        try FieldProblems.check([
            "password": password.count < 8 ? "A password has at least 8 characters." : nil,
            "confirmation": confirmation ?? password != password ? "This is not the same password." : nil,
        ])
        let keys = try await Self.keys(of: user, password)
        let known: User
        do throws(AuthError) {
            known = try await auth.createUser(withEmail: Self.address(user), password: keys.password(forServer: server))
                .user
        } catch {
            guard error.code == .emailAlreadyInUse else { throw error }
            throw FieldProblems(["user": "This name is taken. Sign in, or choose another one."])
        }
        try remember(user, keys)
        try open(known, keys)
    }

    /// Opens the stored data: without the server if this user has signed in here before.
    ///
    /// - throws: `FieldProblems` for `user` and `password`; `AuthError`.
    func signIn(_ user: String, password: String) async throws {
        let user = try checkedName(user)
        let keys = try await Self.keys(of: user, password)
        let isRight = userName == user ? try opensStore(keys, user) : nil
        if isRight == false { throw Self.wrongPassword }
        if isRight == true, let known = auth.currentUser { return try open(known, keys) }
        let known: User
        do throws(AuthError) {
            known = try await auth.signIn(withEmail: Self.address(user), password: keys.password(forServer: server))
                .user
        } catch {
            throw Self.refusal(error, isPasswordRight: isRight == true)
        }
        try remember(user, keys)
        try open(known, keys)
    }

    /// Forgets the keys. The stored data stays, sealed.
    func signOut() async {
        guard let closing = vault else { return }
        vault = nil
        await closing.close()
    }

    /// Deletes the login and all its entries, here and on the server, which has to be there.
    ///
    /// - throws: `FieldProblems` for `user` and `password`; `AuthError`, `DatabaseError`.
    func delete(password: String) async throws {
        noticeEnd()
        guard let vault, let userName, let user = auth.currentUser else {
            throw Problem(sessionEnd ?? "Nobody is signed in.")
        }
        let keys = try await Self.keys(of: userName, password)
        if try opensStore(keys, userName) == false { throw Self.wrongPassword }
        do throws(AuthError) {
            let address = Self.address(userName)
            let credential = EmailAuthProvider.credential(
                withEmail: address, password: keys.password(forServer: server))
            _ = try await user.reauthenticate(with: credential)
        } catch {
            throw Self.refusal(error, isPasswordRight: true)
        }
        try await vault.deleteAll()
        try await user.delete()
        try await forget()
    }

    /// Removes all of this device that belongs to the login, also what the server has not got yet. On the server it
    /// stays.
    func forget() async throws {
        await signOut()
        try auth.signOut()
        for ending in ["", "-wal", "-shm"] { try SecretFile(path: entriesFile + ending).remove() }
        try store.remove()
        try settings.remove()
        userName = nil
    }

    static func keys(of user: String, _ password: String) async throws -> PasswordKeys {
        try await .derived(from: password, salt: "hearth-accounts/\(user)")
    }

    private func open(_ user: User, _ keys: PasswordKeys) throws {
        var options = DatabaseOptions()
        // Without the user's token there is no connection: unauthenticated writes would be refused, and lost.
        options.tokenProvider = { try await user.getIDToken(forcingRefresh: $0) }
        options.persistenceFile = entriesFile
        options.startsOnline = startsOnline
        vault = Vault(try Database(url: server, options: options), userID: user.uid, key: keys.sealing)
        noticeEnd()
    }

    /// Whether these keys are those of the login that is kept here; nil if none is.
    private func opensStore(_ keys: PasswordKeys, _ user: String) throws -> Bool? {
        try store.read().map { keys.sealing.open(String(decoding: $0, as: UTF8.self), for: user) == Self.proof }
    }

    /// The meaning of a refused sign-in.
    ///
    /// - parameter isPasswordRight: whether it is known here that it is.
    private static func refusal(_ error: AuthError, isPasswordRight: Bool) -> any Error {
        switch error.code {
        case .userNotFound, .userMismatch, .wrongPassword, .invalidCredential:
            if isPasswordRight { return unknown }
            return error.code == .userNotFound
                ? FieldProblems(["user": "There is no login with this name."]) : wrongPassword
        default: return error
        }
    }

    private func remember(_ user: String, _ keys: PasswordKeys) throws {
        try store.replace(with: Array(try keys.sealing.seal(Self.proof, for: user).utf8))
        try settings.replace(with: Array((["userName": .string(user)] as DatabaseValue).description.utf8))
        userName = user
    }

    private func checkedName(_ name: String) throws(FieldProblems) -> String {
        let name = name.trimmed.lowercased()
        let isName = (1...40).contains(name.count) && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        let other = userName.flatMap { $0 == name ? nil : "This device has the login of \($0): forget that first." }
        try FieldProblems.check(["user": isName ? other : "A name has 1 to 40 letters and digits."])
        return name
    }

    /// The server knows users by addresses.
    private static func address(_ user: String) -> String { "\(user)@accounts.example" }

    private static let wrongPassword = FieldProblems(["password": "The password is wrong."])

    /// It was deleted on another device.
    private static let unknown = FieldProblems([
        "user": "The server does not know this login any more: forget it on this device."
    ])
}
