import ExampleKit

/// Asks who is there, below the weather.
///
/// - returns: what was opened; nil if the user wants to leave.
@MainActor
func signIn(_ login: Login, _ station: WeatherStation, on terminal: Terminal) async throws -> Vault? {
    struct Choice: Identifiable { let id: String }
    let (signIn, create) = (Choice(id: "Sign in"), Choice(id: "Create a login"))
    try await terminal.list(
        { station.weather?.line ?? "Accounts" }, { login.vault == nil ? [signIn, create] : nil }, empty: { "" },
        actions: [
            .onItem(.enter, "choose") { choice in
                let isNew = choice.id == create.id
                var fields = [
                    Field("user", "User name", text: login.userName ?? ""),
                    Field("password", "Password", isSecret: true),
                ]
                if isNew { fields.append(Field("confirmation", "Once more", isSecret: true)) }
                try await terminal.form(choice.id, fields, does: isNew ? "create" : "sign in") { values in
                    let (user, password) = (values["user"] ?? "", values["password"] ?? "")
                    if isNew {
                        try await login.create(user, password: password, confirmation: values["confirmation"])
                    } else {
                        try await login.signIn(user, password: password)
                    }
                }
            },
            .leave("q", "quit"),
        ]
    ) { Line($0.id) }
    return login.vault
}

/// The accounts, until the user signs out.
@MainActor
func showAccounts(_ vault: Vault, _ login: Login, on terminal: Terminal) async throws {
    async let _ = vault.follow()
    let key = try await terminal.list(
        { "Accounts of \(login.userName ?? "")" }, { login.vault == nil ? nil : vault.entries ?? [] },
        empty: { vault.problem ?? (vault.entries == nil ? "One moment…" : "No account yet. Press a to add one.") },
        actions: [
            .onItem(.enter, "edit") { entry in try await edit(entry, in: vault, on: terminal) },
            .always("a", "add") { try await edit(nil, in: vault, on: terminal) },
            .onItem("s", "show") { entry in terminal.message = Line("\(entry.name): \(entry.password)") },
            .onItem("d", "delete") { entry in
                guard try await terminal.confirm("Delete \(entry.name)?") else { return }
                try await terminal.perform("Deleting…") { try await vault.delete(entry) }
            },
            .always("x", "delete login") {
                let field = Field("password", "Password", isSecret: true)
                try await terminal.form("Delete the login and all accounts", [field], does: "delete all") { values in
                    try await login.delete(password: values["password"] ?? "")
                }
            },
            .leave("o", "sign out"), .leave("q", "quit"),
        ]
    ) { entry in
        Line(entry.name.padded(to: 24), .bold) + Line(entry.userName.padded(to: 24)) + Line("••••••", .faint)
    }
    if key == "q" { throw Quit() }
    login.signOut()
}

/// - parameter entry: nil for a new one.
@MainActor
private func edit(_ entry: Entry?, in vault: Vault, on terminal: Terminal) async throws {
    let fields = [
        Field("name", "Name", text: entry?.name ?? ""), Field("userName", "User name", text: entry?.userName ?? ""),
        Field("password", "Password", text: entry?.password ?? "", isSecret: true),
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
