import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// Asks who is there, below the weather.
///
/// - returns: the opened data; nil if it was closed meanwhile.
/// - throws: `Quit` if the user wants to leave.
@MainActor
func signIn(_ login: Login, _ station: WeatherStation, on terminal: Terminal) async throws -> Vault? {
    try await terminal.choose({ station.weather?.line ?? "Accounts" }, while: { login.vault == nil }) {
        let signingIn = Choice("Sign in") {
            try await askLogin("Sign in", login, on: terminal, does: "sign in") { values in
                try await login.signIn(values["user"] ?? "", password: values["password"] ?? "")
            }
        }
        let creating = Choice("Create a login") {
            let again = Field("confirmation", "Once more", kind: .secret)
            try await askLogin("Create a login", login, on: terminal, [again], does: "create") { values in
                try await login.create(
                    values["user"] ?? "", password: values["password"] ?? "", confirmation: values["confirmation"])
            }
        }
        // A device has one login: another can be created when this one is forgotten.
        guard let name = login.userName else { return [signingIn, creating] }
        let forgetting = Choice("Forget the login of \(name) on this device") {
            let question = "Forget it? What the server has not got is lost."
            guard try await terminal.confirm(question) else { return }
            try await terminal.perform("Forgetting…") { try await login.forget() }
        }
        return [signingIn, forgetting]
    }
    return login.vault
}

@MainActor
private func askLogin(
    _ title: String, _ login: Login, on terminal: Terminal, _ more: [Field] = [], does: String,
    submit: @escaping @MainActor ([String: String]) async throws -> Void
) async throws {
    let fields = [
        Field("user", "User name", text: login.userName ?? ""), Field("password", "Password", kind: .secret),
    ]
    try await terminal.form(title, fields + more, does: does, submit: submit)
}

/// The accounts, until the user signs out.
@MainActor
func showAccounts(_ vault: Vault, _ login: Login, on terminal: Terminal) async throws {
    async let _ = vault.live.follow()
    try await terminal.list(
        { "Accounts of \(login.userName ?? "")" + (vault.sealed.map { " (\($0))" } ?? "") },
        { login.vault == nil ? nil : vault.entries ?? [] },
        empty: { vault.entries == nil ? "One moment…" : "No account yet. Press a to add one." },
        problem: { login.sessionEnd ?? vault.problem ?? vault.live.problem },
        actions: [
            .onItem(.enter, "edit") { entry in try await edit(entry, in: vault, on: terminal) },
            .always("a", "add") { try await edit(nil, in: vault, on: terminal) },
            .onItem("s", "show") { entry in terminal.message = Line("\(entry.name): \(entry.password)") },
            .onItem("d", "delete") { entry in
                guard try await terminal.confirm("Delete \(entry.name)?") else { return }
                try await terminal.perform("Deleting…") { try await vault.delete(entry) }
            },
            .always("x", "delete login") {
                let field = Field("password", "Password", kind: .secret)
                try await terminal.form("Delete the login and all accounts", [field], does: "delete all") { values in
                    try await login.delete(password: values["password"] ?? "")
                }
            },
            .leave("o", "sign out"), .quit("q"),
        ]
    ) { entry in
        Line(entry.name.padded(to: 24), .bold) + Line(entry.userName.padded(to: 24)) + Line("••••••", .faint)
    }
    await login.signOut()
}

/// - parameter entry: nil for a new one.
@MainActor
private func edit(_ entry: Entry?, in vault: Vault, on terminal: Terminal) async throws {
    let fields = [
        Field("name", "Name", text: entry?.name ?? ""), Field("userName", "User name", text: entry?.userName ?? ""),
        Field("password", "Password", text: entry?.password ?? "", kind: .secret),
    ]
    try await terminal.form(entry == nil ? "New account" : "Account", fields) { values in
        let (name, userName) = (values["name"] ?? "", values["userName"] ?? "")
        let password = values["password"] ?? ""
        if let entry {
            try await vault.save(Entry(id: entry.id, name: name, userName: userName, password: password))
        } else {
            try await vault.add(name: name, userName: userName, password: password)
        }
    }
}
