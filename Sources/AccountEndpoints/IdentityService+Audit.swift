import HearthIdentity
import HearthAccess

/// The entries for the audit trail.
extension IdentityService {
    /// Somebody has signed up or in, or has changed how to sign in.
    func note(_ signIn: SignIn, _ request: IdentityRequest) {
        trail.note(
            AuditEvent(
                signIn.isNew ? .signedUp : .signedIn, client: request.client,
                [("user", signIn.user.id), ("provider", signIn.provider)]))
        noteChanges(signIn.changes, of: signIn.user, request)
    }

    func noteChanges(_ changes: [String], of user: User, _ request: IdentityRequest) {
        if changes.isEmpty { return }
        trail.note(
            AuditEvent(
                .methodsChanged, client: request.client,
                [("user", user.id), ("changes", changes.joined(separator: ","))]))
    }

    /// An administrator has done something.
    func noteAdministration(_ what: String, _ target: String, by administrator: String, _ request: IdentityRequest) {
        trail.note(
            AuditEvent(
                .accounts, client: request.client, [("by", administrator), ("did", what), ("users", target)]))
    }

    func noteFailure(_ failure: AccountFailure, _ request: IdentityRequest) {
        switch failure {
        case .refused(let error) where error.code == .tooManyAttempts || error.code == .resetPasswordExceedLimit:
            trail.note(
                AuditEvent(
                    .lockedOut, client: request.client,
                    [("at", "\(request.route.operation)"), ("account", account(of: request))]))
        case .refused(let error) where request.route.isSignIn:
            trail.note(
                AuditEvent(
                    .signInFailed, client: request.client,
                    [
                        ("at", "\(request.route.operation)"), ("account", account(of: request)),
                        ("reason", error.code.rawValue),
                    ]))
        case .request(.unauthenticated(_, let reason)):
            trail.note(
                AuditEvent(.denied, client: request.client, [("at", "\(request.route.operation)"), ("reason", reason)]))
        case .refused, .request, .storage, .failed, .busy: break
        }
    }

    /// The address that a request names, if it is one: people type other things into that field.
    private func account(of request: IdentityRequest) -> String? {
        guard let email = try? request.fields(allowsForm: true).text("email") else { return nil }
        return try? AccountNames.email(email)
    }
}

extension Revocation.Loss {
    /// A word for the audit trail.
    var name: String {
        switch self {
        case .account: "account"
        case .disabled: "disabled"
        case .tokensBefore: "tokens"
        }
    }
}
