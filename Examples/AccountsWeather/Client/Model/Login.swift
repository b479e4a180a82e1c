import ExampleKit
import HearthClient
import Observation

/// Who may open what is kept on this device.
///
/// The user's name is in a settings file. The password is nowhere: the protected store holds a text that only the right
/// password opens. So signing in needs no network once somebody has signed in here.
@MainActor
@Observable
final class Login {
    /// Who has signed in on this device before; nil if nobody has.
    private(set) var userName: String?
    /// What is open.
    private(set) var vault: Vault?
    /// Whether there is a connection to the database.
    private(set) var isOnline = false

    let database: Database
    private let auth: Auth
    private let settings: OwnFile
    private let store: OwnFile

    private static let proof = "the password is right"

    /// - parameter file: the session's; the others are beside it.
    init(server: String, file: String, startsOnline: Bool = true) throws {
        settings = OwnFile(path: file + ".settings")
        store = OwnFile(path: file + ".store")
        var options = AuthOptions()
        options.sessionFile = file
        auth = try Auth(url: server, options: options)
        var databaseOptions = DatabaseOptions()
        databaseOptions.auth = auth
        databaseOptions.persistenceFile = file + ".entries"
        databaseOptions.startsOnline = startsOnline
        database = try Database(url: server, options: databaseOptions)
        if let text = settings.read() { userName = try DatabaseValue(json: Array(text.utf8))["userName"].string }
    }

    /// Knows whether there is a connection until the task is cancelled.
    func follow() async throws {
        let connected = database.reference(withPath: ".info/connected").values(as: Bool.self)
        for try await isOnline in connected { self.isOnline = isOnline ?? false }
    }

    /// Ends the connection. Returns when all that was seen is on disk.
    func close() async {
        // An observer hears of the end when that is so.
        do { for try await _ in database.reference(withPath: ".info/connected").values() { database.close() } } catch {}
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
        let keys = try await MasterKeys.derived(userName: user, password: password)
        do throws(AuthError) {
            open(try await auth.createUser(withEmail: Self.address(user), password: keys.serverPassword).user, keys)
        } catch {
            guard error.code == .emailAlreadyInUse else { throw error }
            throw FieldProblems(["user": "This name is taken. Sign in, or choose another one."])
        }
        try remember(user, keys)
    }

    /// Opens what is kept: without the server if this user has signed in here before.
    ///
    /// - throws: `FieldProblems` for `user` and `password`; `AuthError`.
    func signIn(_ user: String, password: String) async throws {
        let user = try checkedName(user)
        let keys = try await MasterKeys.derived(userName: user, password: password)
        if userName == user, let kept = store.read() {
            guard keys.sealing.open(kept, for: user) == Self.proof else { throw Self.wrongPassword }
            if let known = auth.currentUser { return open(known, keys) }
        }
        do throws(AuthError) {
            open(try await auth.signIn(withEmail: Self.address(user), password: keys.serverPassword).user, keys)
        } catch {
            switch error.code {
            case .userNotFound: throw FieldProblems(["user": "There is no login with this name."])
            case .wrongPassword, .invalidCredential: throw Self.wrongPassword
            default: throw error
            }
        }
        try remember(user, keys)
    }

    /// Forgets the keys. What is kept stays, sealed.
    func signOut() { vault = nil }

    /// Deletes the login and all its entries, here and on the server, which has to be there.
    ///
    /// - throws: `FieldProblems` for `password`; `AuthError`, `DatabaseError`.
    func delete(password: String) async throws {
        guard let vault, let userName, let user = auth.currentUser else { throw Problem("Nobody is signed in.") }
        let keys = try await MasterKeys.derived(userName: userName, password: password)
        do throws(AuthError) {
            let address = Self.address(userName)
            let credential = EmailAuthProvider.credential(withEmail: address, password: keys.serverPassword)
            _ = try await user.reauthenticate(with: credential)
        } catch {
            guard [.wrongPassword, .invalidCredential].contains(error.code) else { throw error }
            throw Self.wrongPassword
        }
        try await vault.deleteAll()
        try await user.delete()
        store.remove()
        settings.remove()
        self.userName = nil
        self.vault = nil
    }

    private func open(_ user: User, _ keys: MasterKeys) {
        vault = Vault(database, userID: user.uid, key: keys.sealing)
    }

    private func remember(_ user: String, _ keys: MasterKeys) throws {
        try store.write(try keys.sealing.seal(Self.proof, for: user))
        try settings.write((["userName": .string(user)] as DatabaseValue).description)
        userName = user
    }

    private func checkedName(_ name: String) throws(FieldProblems) -> String {
        let name = name.trimmed.lowercased()
        let isName = (1...40).contains(name.count) && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        let other = userName.flatMap { $0 == name ? nil : "This device has the login of \($0)." }
        try FieldProblems.check(["user": isName ? other : "A name has 1 to 40 letters and digits."])
        return name
    }

    /// The server knows users by addresses.
    private static func address(_ user: String) -> String { "\(user)@accounts.example" }

    private static let wrongPassword = FieldProblems(["password": "The password is wrong."])
}
