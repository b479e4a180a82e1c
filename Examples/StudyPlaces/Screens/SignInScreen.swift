import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// Asks for a provider and its data about the user, unless a user is signed in already.
///
/// - returns: who it is; nil if that is over already.
/// - throws: `Quit` if the user wants to leave.
@MainActor
func signIn(_ account: Account, on terminal: Terminal) async throws -> Person? {
    if let why = account.auth.sessionEndError { terminal.message = Line(why.message + ".", .wrong) }
    try await terminal.list(
        { "Study places" }, { account.person == nil ? Provider.allCases : nil }, empty: { "" },
        actions: [
            .onItem(.enter, "sign in") { provider in
                try await terminal.form(
                    provider.name, [Field("token", "Token", kind: .secret)], does: "sign in"
                ) { values in
                    try await account.signIn(provider, token: values["token"] ?? "")
                }
            },
            .onItem("d", "demo identity") { provider in
                try await terminal.form(
                    "\(provider.name), made up", [Field("name", "Your name"), Field("email", "Email address")],
                    does: "sign in"
                ) { values in
                    try await account.signInForDemo(
                        provider, name: values["name"] ?? "", email: values["email"] ?? "")
                }
            },
            .quit("q"),
        ]
    ) { Line("Sign in with \($0.name)") }
    return account.person
}

/// Asks a user who is signed in since an earlier run whether they are still there.
///
/// - throws: `Quit` if the user wants to leave.
@MainActor
func offerToContinue(_ account: Account, on terminal: Terminal) async throws {
    guard let person = account.person else { return }
    var isDecided = false
    try await terminal.choose({ "Study places" }, while: { !isDecided && account.person == person }) {
        [
            Choice("Continue as \(person.name)") { isDecided = true },
            Choice("Sign in as somebody else") { try account.signOut() },
        ]
    }
}
