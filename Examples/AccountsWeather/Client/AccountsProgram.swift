import HearthExampleKit
import HearthExampleTerminal

/// Accounts that only their owner can read, and the weather: what the command line can do, and where the screen begins.
let accountsProgram = Program(
    "hearth-accounts-weather", "Your accounts, sealed, on all your devices; and the weather, for everybody.",
    options: [.init("online", "yes|no", "whether to connect; offline changes are sent later", usual: "yes")],
    commands: [
        .init("weather", "prints the weather") { call in
            try await WeatherStation(server: call.server).follow { weather in
                say(Line(weather))
                throw Quit()
            }
        },
        .init("watch-weather", "prints the weather now and whenever it changes") { call in
            try await WeatherStation(server: call.server).follow { say(Line($0)) }
        },
        .init("create USER", "makes a login; asks for the password") { call in
            try await use(call) { login in
                try await login.create(call.required("USER"), password: try call.askPassword())
                try await login.vault?.load()
                say("Welcome, \(login.userName ?? "").")
            }
        },
        .init("sign-in USER", "makes a login that there is usable on this device; asks for the password") { call in
            try await use(call) { login in
                try await login.signIn(call.required("USER"), password: try call.askPassword())
                try await login.vault?.load()
                say("Welcome back, \(login.userName ?? "").")
            }
        },
        .init("list", "prints the accounts; asks for the password, as all that follow do") { call in
            try await useVault(call) { vault in
                for entry in vault.entries ?? [] {
                    say("\(entry.name.padded(to: 20))  \(entry.userName.padded(to: 20))  \(entry.password)")
                }
                if let sealed = vault.sealed { say("\(sealed).") }
            }
        },
        .init("add NAME USER", "adds an account; asks for its password as well") { call in
            try await useVault(call) { vault in
                let password = try call.askPassword("Password of the account: ")
                try await vault.add(name: call.required("NAME"), userName: call.required("USER"), password: password)
                try await settle(vault, call)
            }
        },
        .init("edit NAME USER", "changes user name and password of an account; asks for the latter as well") { call in
            try await useVault(call) { vault in
                var entry = try find(call, in: vault)
                entry.userName = call.required("USER")
                entry.password = try call.askPassword("Password of the account: ")
                try await vault.save(entry)
                try await settle(vault, call)
            }
        },
        .init("delete NAME", "deletes an account") { call in
            try await useVault(call) { vault in
                try await vault.delete(try find(call, in: vault))
                try await settle(vault, call)
            }
        },
        .init("sync", "waits until the server has what was changed here") { call in
            try await useVault(call) { vault in
                try await settle(vault, call)
            }
        },
        .init("delete-login", "deletes the login and all its accounts, here and on the server") { call in
            try await use(call) { login in
                let password = try await signIn(login, call)
                try await login.delete(password: password)
            }
        },
        .init("forget", "removes the login of this device, and what the server has not got; there it stays") { call in
            try await use(call) { login in try await login.forget() }
        },
    ]
) { call, terminal in
    try await use(call) { login in
        let station = try WeatherStation(server: call.server, startsOnline: isOnline(call))
        async let _ = login.follow()
        async let _ = station.follow()
        terminal.badge = { station.isOnline ? nil : "no connection" }
        while true {
            guard let vault = try await signIn(login, station, on: terminal) else { continue }
            try await showAccounts(vault, login, on: terminal)
        }
    }
}

private func isOnline(_ call: Call) -> Bool { call.required("online") != "no" }

/// - returns: the password.
@MainActor
private func signIn(_ login: Login, _ call: Call) async throws -> String {
    guard let userName = login.userName else { throw Problem("there is no login here: create one or sign in first") }
    let password = try call.askPassword()
    try await login.signIn(userName, password: password)
    return password
}

/// Uses the login, and keeps what it has learnt meanwhile.
@MainActor
private func use(_ call: Call, _ work: @MainActor (Login) async throws -> Void) async throws {
    let login = try Login(server: call.server, file: call.sessionFile, startsOnline: isOnline(call))
    do { try await work(login) } catch {
        await login.signOut()
        throw error
    }
    await login.signOut()
}

/// The same with what the user of this device has, and what the server knows if it can be asked.
@MainActor
private func useVault(_ call: Call, _ work: @MainActor (Vault) async throws -> Void) async throws {
    try await use(call) { login in
        _ = try await signIn(login, call)
        guard let vault = login.vault else { throw Problem("nobody is signed in") }
        try await vault.load(askingFor: isOnline(call) ? patience : nil)
        try await work(vault)
        login.noticeEnd()
        if let end = login.sessionEnd { throw Problem(end) }
    }
}

@MainActor
private func settle(_ vault: Vault, _ call: Call) async throws {
    let isSettled = isOnline(call) ? try await vault.settle(within: patience) : false
    say(isSettled ? "The server has it." : "Kept here; the server is told when there is a connection.")
}

private let patience = Duration.seconds(5)

@MainActor
private func find(_ call: Call, in vault: Vault) throws -> Entry {
    try call.item(named: "NAME", of: vault.entries ?? [], "account", by: \.name)
}
