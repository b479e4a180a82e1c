import HearthExampleKit
import HearthExampleTerminal
import Glibc
import HearthClient
import HearthSealing
import HearthTestSupport
import Testing

@testable import HearthAccountsWeather

@Suite("AccountsWeather: accounts", .timeLimit(.minutes(15)))
@MainActor
struct AccountsWeatherTests {
    private let server: ExampleServer
    private let password = "correct horse"

    init() throws { server = try ExampleServer("AccountsWeather", rules: "accounts-weather") }

    private func login(_ device: String, isOnline: Bool = true) throws -> Login {
        try Login(server: server.url, file: server.sessionFile(device), startsOnline: isOnline)
    }

    private func created(_ device: String) async throws -> (login: Login, vault: Vault) {
        let login = try login(device)
        try await login.create("ann", password: password)
        return (login, try #require(login.vault))
    }

    private func signedIn(_ device: String) async throws -> (login: Login, vault: Vault) {
        let login = try login(device)
        try await login.signIn("ann", password: password)
        return (login, try #require(login.vault))
    }

    @Test("are sealed: what the server and the files of the device hold tells nothing of them")
    func sealing() async throws {
        let (login, vault) = try await created("desk")
        try await vault.add(name: "Bank", userName: "ann.lee", password: "s3cret-of-bank")
        #expect(try await vault.settle(within: .seconds(600)))
        try await vault.load()
        #expect(vault.entries?.map(\.password) == ["s3cret-of-bank"])
        let all = try Database(url: server.url, options: asOwner).reference()
        let kept = try await all.getData().value.description
        #expect(kept.contains("accounts"))
        var texts = [kept]
        await login.signOut()
        #expect(access(server.sessionFile("desk") + ".entries-wal", F_OK) != 0, "all is in the file itself")
        for ending in ["", ".settings", ".store", ".entries"] {
            let path = server.sessionFile("desk") + ending
            var information = stat()
            #expect(stat(path, &information) == 0, "\(path)")
            if [".settings", ".store", ""].contains(ending) { #expect(information.st_mode & 0o077 == 0, "\(path)") }
            texts.append(String(decoding: try #require(contents(of: path)), as: UTF8.self))
        }
        for text in texts {
            for secret in ["Bank", "ann.lee", "s3cret-of-bank", password] { #expect(!text.contains(secret)) }
        }
    }

    private var asOwner: DatabaseOptions {
        var options = DatabaseOptions()
        options.tokenProvider = { _ in "owner" }
        return options
    }

    private func contents(of path: String) -> [UInt8]? {
        guard let file = fopen(path, "rb") else { return nil }
        defer { fclose(file) }
        return [UInt8](unsafeUninitializedCapacity: 1 << 22) { $1 = fread($0.baseAddress, 1, $0.count, file) }
    }

    @Test("open with the right password alone, with and without the server")
    func wrongPassword() async throws {
        let (desk, vault) = try await created("desk")
        try await vault.add(name: "Bank", userName: "ann", password: "x")
        await desk.signOut()
        #expect(desk.vault == nil)
        let wrong = FieldProblems(["password": "The password is wrong."])
        await #expect(throws: wrong) { try await desk.signIn("ann", password: "wrong horse") }
        let phone = try login("phone")
        await #expect(throws: wrong) { try await phone.signIn("ann", password: "wrong horse") }
        #expect(desk.vault == nil)
        #expect(phone.vault == nil)
        try await desk.signIn("Ann ", password: password)
        #expect(desk.vault != nil)
        for (user, password, problems) in [
            ("an n", "long enough", ["user": "A name has 1 to 40 letters and digits."]),
            ("bob", "short", ["password": "A password has at least 8 characters."]),
            ("ann", "long enough", ["user": "This name is taken. Sign in, or choose another one."]),
        ] {
            await #expect(throws: FieldProblems(problems)) { try await phone.create(user, password: password) }
        }
        await #expect(throws: FieldProblems(["user": "There is no login with this name."])) {
            try await phone.signIn("bob", password: "long enough")
        }
    }

    @Test("that do not open are counted")
    func sealed() async throws {
        let (login, vault) = try await created("desk")
        try await vault.add(name: "Bank", userName: "ann", password: "x")
        #expect(try await vault.settle(within: .seconds(600)))
        let all = try Database(url: server.url, options: asOwner).reference(withPath: "accounts")
        let user = try #require(try await all.getData().children.first?.key)
        try await all.child(user).child("other").setValue("YQ==")
        try await vault.load(askingFor: .seconds(600))
        #expect(vault.entries?.map(\.name) == ["Bank"])
        #expect(vault.sealed == "1 account does not open")
        await login.signOut()
        let list = try await server.run(
            "hearth-accounts-weather", session: "desk", words: ["list"], input: password)
        #expect(list.text.hasSuffix("1 account does not open."))
    }

    @Test("edited without a network on two devices arrive on both")
    func twoDevices() async throws {
        let deskVault = try await created("desk").vault
        let phoneVault = try await signedIn("phone").vault
        try await deskVault.add(name: "Bank", userName: "ann", password: "1")
        try await alongside({ try await deskVault.live.follow() }) {
            try await alongside({ try await phoneVault.live.follow() }) {
                await until { deskVault.entries?.count == 1 && phoneVault.entries?.count == 1 }
                deskVault.database.goOffline()
                phoneVault.database.goOffline()
                try await deskVault.add(name: "Mail", userName: "a", password: "2")
                var bank = try #require(phoneVault.entries?.first)
                bank.password = "3"
                try await phoneVault.save(bank)
                try await phoneVault.add(name: "Library", userName: "b", password: "4")
                #expect(try await deskVault.settle(within: .milliseconds(50)) == false)
                await until { deskVault.entries?.map(\.name) == ["Bank", "Mail"] }
                await until { phoneVault.entries?.map(\.password) == ["3", "4"] }
                deskVault.database.goOnline()
                phoneVault.database.goOnline()
                await until { deskVault.entries?.map(\.password) == ["3", "4", "2"] }
                await until { phoneVault.entries == deskVault.entries }
                try await phoneVault.delete(bank)
                await until { deskVault.entries?.map(\.name) == ["Library", "Mail"] }
            }
        }
    }

    @Test("need a name, and have parts that are not too long")
    func fields() async throws {
        let (_, vault) = try await created("desk")
        await #expect(throws: FieldProblems(["name": "An account needs a name."])) {
            try await vault.add(name: " ", userName: "", password: "")
        }
        await #expect(throws: FieldProblems(["password": "At most 1000 characters each."])) {
            try await vault.add(name: "x", userName: "", password: String(repeating: "x", count: 1001))
        }
    }

    @Test("go with the login when it is deleted, here and on the server")
    func delete() async throws {
        let (login, vault) = try await created("desk")
        try await vault.add(name: "Bank", userName: "ann", password: "x")
        await #expect(throws: FieldProblems(["password": "The password is wrong."])) {
            try await login.delete(password: "wrong horse")
        }
        #expect(login.userName == "ann")
        try await login.delete(password: password)
        #expect(login.userName == nil)
        #expect(login.vault == nil)
        for ending in ["", ".settings", ".store", ".entries"] {
            #expect(access(server.sessionFile("desk") + ending, F_OK) != 0, "\(ending)")
        }
        let accounts = try Database(url: server.url, options: asOwner).reference(withPath: "accounts")
        #expect(try await accounts.getData().value == .null)
        try await login.create("ann", password: "another horse")
        #expect(login.vault != nil)
    }

    /// Deletes the login at the server, as another device does.
    private func deleteLogin(on server: ExampleServer) async throws {
        let auth = try Auth(url: server.url)
        let keys = try await Login.keys(of: "ann", password)
        let user = try await auth.signIn(
            withEmail: "ann@accounts.example", password: keys.password(forServer: server.url)
        ).user
        try await user.delete()
    }

    @Test("that the server has not got stay on the device when it ends the session, until the device forgets the login")
    func sessionEnd() async throws {
        let server = try ExampleServer("AccountsWeather", rules: "accounts-weather", isDevelopment: false)
        let login = try Login(server: server.url, file: server.sessionFile("desk"))
        try await login.create("ann", password: password)
        let vault = try #require(login.vault)
        try await alongside({ await login.follow() }) {
            // Existing data is known, even without a network.
            try await vault.load()
            vault.database.goOffline()
            try await vault.add(name: "Mail", userName: "ann", password: "x")
            try await deleteLogin(on: server)
            vault.database.goOnline()
            await until { login.sessionEnd != nil }
            try await vault.load()
            #expect(vault.entries?.map(\.name) == ["Mail"])
            let problem = await #expect(throws: Problem.self) { try await login.delete(password: password) }
            #expect(problem?.description.contains("sign out and in again") == true)
            await login.signOut()
            let unknown = "The server does not know this login any more: forget it on this device."
            await #expect(throws: FieldProblems(["user": unknown])) {
                try await login.signIn("ann", password: password)
            }
            await #expect(throws: FieldProblems(["password": "The password is wrong."])) {
                try await login.signIn("ann", password: "wrong horse")
            }
            #expect(access(server.sessionFile("desk") + ".entries", F_OK) == 0)
            try await login.forget()
            #expect(login.userName == nil)
            try await login.create("eve", password: "another horse")
            try await login.vault?.load()
            #expect(login.vault?.entries == [])
        }
    }

    @Test("that the server refuses are told of")
    func refused() async throws {
        let vault = try await created("desk").vault
        // Sealed it is longer than the rules allow.
        let long = String(repeating: "\u{1}", count: 1000)
        try await vault.add(name: long, userName: long, password: long)
        let problem = await #expect(throws: Problem.self) { try await vault.settle(within: .seconds(600)) }
        #expect(problem?.description.hasPrefix("The server has refused a change: permission denied") == true)
        await until { vault.problem == problem?.description }
        try await vault.load()
        #expect(vault.entries == [])
    }

    @Test("need not be open to see the weather")
    func weather() async throws {
        _ = try await created("desk")
        let weather = try await server.run("hearth-accounts-weather", session: "desk", "weather")
        #expect(weather.text == "☀ Charlotte: clear sky, 21.5 °C")
        #expect(weather.code == 0)
    }

    @Test("can be left at a second password, as at the first")
    func secondPassword() async throws {
        await (try await created("desk").login).signOut()
        let terminal = try server.open(
            "hearth-accounts-weather", session: "desk", words: ["add", "Bank", "ann.lee"])
        try await terminal.wait(for: "Password:")
        terminal.type(.text(password), .enter)
        try await terminal.wait(for: "Password of the account:")
        terminal.type(.control("c"))
        #expect(try await terminal.outcome() == -SIGINT)
        #expect(terminal.readsLines)
    }

    @Test("are used on a terminal, below the weather")
    func screens() async throws {
        let terminal = try server.open("hearth-accounts-weather", session: "desk", columns: 100)
        try await terminal.wait(for: "Charlotte: clear sky, 21.5 °C")
        terminal.type(.down, .enter)
        try await terminal.wait(for: "Once more")
        terminal.type("ann", .enter, "correct horse", .enter, "correct horse", .enter)
        try await terminal.wait(for: "No account yet.")
        terminal.type("a")
        try await terminal.wait(for: "New account")
        terminal.type("Bank", .enter, "ann.lee", .enter, "s3cret", .enter)
        try await terminal.wait(for: "ann.lee")
        #expect(!terminal.screen.text.contains("s3cret"))
        terminal.type("s")
        try await terminal.wait(for: "Bank: s3cret")
        terminal.type("d", "y")
        try await terminal.wait(for: "No account yet.")
        terminal.type("o")
        try await terminal.wait(for: "Sign in")
        terminal.type("q")
        #expect(try await terminal.outcome() == 0)
    }

    private func signIn(_ terminal: PseudoTerminal, isNew: Bool) async throws {
        try await terminal.wait(for: "Create a login")
        terminal.type(isNew ? .down : .home, .enter)
        try await terminal.wait(for: isNew ? "Once more" : "Password")
        terminal.type("ann", .enter, .text(password), .enter)
        if isNew { terminal.type(.text(password), .enter) }
        try await terminal.wait(for: "Accounts of ann")
    }

    @Test("are added, changed and deleted on two terminals at once, until the login is deleted on one of them")
    func twoTerminals() async throws {
        let server = try ExampleServer("AccountsWeather", rules: "accounts-weather", isDevelopment: false)
        let program = "hearth-accounts-weather"
        let desk = try server.open(program, session: "desk", columns: 100)
        try await signIn(desk, isNew: true)
        let phone = try server.open(program, session: "phone", columns: 100)
        try await signIn(phone, isNew: false)
        desk.type("a")
        try await desk.wait(for: "New account")
        desk.type("Bank", .enter, "ann.lee", .enter, "s3cret", .enter)
        try await phone.wait(for: "ann.lee")
        phone.type(.enter)
        try await phone.wait(for: "Enter next")
        phone.type(.tab, ".2", .tab, "!", .enter)
        try await desk.wait(for: "ann.lee.2")
        desk.type("s")
        try await desk.wait(for: "Bank: s3cret!")
        phone.type("x")
        try await phone.wait(for: "Delete the login")
        phone.type("wrong horse", .enter)
        try await phone.wait(for: "The password is wrong.")
        phone.type(.control("u"), .text(password), .enter)
        try await phone.wait(for: "Create a login")
        #expect(!phone.screen.text.contains("Forget"))

        // The other one learns it, and makes room.
        desk.type(.down)
        try await desk.wait(for: "sign out and in again")
        desk.type("o")
        try await desk.wait(for: "Forget the login of ann on this device")
        #expect(!desk.screen.text.contains("Create a login"))
        desk.type(.home, .enter)
        try await desk.wait(for: "Password")
        // The name is there already.
        desk.type(.text(password), .enter)
        try await desk.wait(for: "The server does not know this login any more")
        desk.type(.escape)
        try await desk.wait(for: "Forget the login of ann on this device")
        desk.type(.end, .enter)
        try await desk.wait(for: "What the server has not got is lost. y/n")
        desk.type("y")
        try await desk.waitUntilGone("Forget")
        try await signIn(desk, isNew: true)
    }
}
