import HearthIdentity

/// The link of a mail: to a page of this server, with the code (accounts.md 7).
struct CodeLink {
    let text: String

    init(
        _ issued: IssuedCode, _ request: IdentityRequest, _ configuration: IdentityConfiguration, _ isDevelopment: Bool,
        next: WebAddress?, tenant: String?
    ) {
        let origin = configuration.publicURL ?? request.origin
        let page = isDevelopment ? "/emulator/action" : "/auth/action"
        var parameters = [
            ("mode", issued.code.kind.mode), ("lang", "en"), ("oobCode", issued.text),
            ("apiKey", request.apiKey ?? "none"),
        ]
        if let next { parameters.append(("continueUrl", next.text)) }
        if let tenant { parameters.append(("tenantId", tenant)) }
        let query = parameters.map { "\($0.0)=\(WebAddress.escaped($0.1))" }
        text = "\(origin)\(page)?\(query.joined(separator: "&"))"
    }
}

extension OneTimeCode.Kind {
    /// Its name in links.
    var mode: String {
        switch self {
        case .resetPassword: "resetPassword"
        case .verifyEmail: "verifyEmail"
        case .emailSignIn: "signIn"
        case .verifyAndChangeEmail: "verifyAndChangeEmail"
        case .recoverEmail: "recoverEmail"
        }
    }
}
