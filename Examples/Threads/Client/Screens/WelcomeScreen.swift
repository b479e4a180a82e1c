import HearthExampleKit
import HearthExampleTerminal

/// Asks who is there, unless somebody is logged in already. Returns when somebody is.
@MainActor
func welcome(_ session: Session, on terminal: Terminal) async throws {
    let choices = [
        Choice("Log in") { try await logIn(session, on: terminal) },
        Choice("Sign up") { try await signUp(session, on: terminal) },
    ]
    try await terminal.choose({ "Threads" }, while: { session.member == nil }) { choices }
}

@MainActor
private func logIn(_ session: Session, on terminal: Terminal) async throws {
    let fields = [Field("email", "Email address"), Field("password", "Password", kind: .secret)]
    try await terminal.form("Log in", fields, does: "log in") { values in
        try await session.logIn(email: values["email"] ?? "", password: values["password"] ?? "")
    }
}

@MainActor
private func signUp(_ session: Session, on terminal: Terminal) async throws {
    let fields = [
        Field("fname", "First name"), Field("lname", "Last name"), Field("email", "Email address"),
        Field("password", "Password", kind: .secret), Field("confirmation", "Once more", kind: .secret),
    ]
    try await terminal.form("Sign up", fields, does: "sign up") { values in
        try await session.signUp(
            firstName: values["fname"] ?? "", lastName: values["lname"] ?? "", email: values["email"] ?? "",
            password: values["password"] ?? "", confirmation: values["confirmation"] ?? "")
    }
}
