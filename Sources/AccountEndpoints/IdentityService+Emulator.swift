import HearthHTTPCodec
import HearthIdentity
import HearthJSONValues
import HearthHTTPResponses

/// Requests of tools and tests to the official emulator (accounts.md 1), without a credential: in development mode
/// only.
extension IdentityService {
    func emulate(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        guard isDevelopment else { throw .request(.notFound) }
        let realm = try namedRealm(request.route.project, request.route.tenant)
        switch request.route.operation {
        case .ready:
            let state = JSONObject(["ready": .bool(true), "docs": .text("Protocol.md")])
            return HTTPResponse(identity: JSONObject(["authEmulator": .object(state)]))
        case .emulatorAccounts:
            try accounts.deleteAll(in: realm)
            issued.removeAll(in: realm)
            return HTTPResponse(identity: JSONObject())
        case .emulatorConfiguration: return try projectSettings(request, needsCredential: false)
        case .emulatorCodes:
            return HTTPResponse(
                identity: JSONObject(["oobCodes": .array(issued.codes(in: realm).map { .object($0) })]))
        case .emulatorVerificationCodes:
            return HTTPResponse(identity: JSONObject(["verificationCodes": .array([])]))
        default: return try emulateAction(request)
        }
    }

    /// The target of links in development mode (accounts.md 7): a call by a test does at once the operation that the
    /// page would ask for.
    private func emulateAction(_ request: IdentityRequest) throws(AccountFailure) -> HTTPResponse {
        guard request.method == .get, let mode = request.parameter("mode"), let code = request.parameter("oobCode")
        else { return actionPage(request) }
        let realm = try realm(ofCode: code, tenant: request.parameter("tenantId"))
        do throws(AccountFailure) {
            switch mode {
            case "resetPassword":
                guard let password = request.parameter("newPassword") else { return actionPage(request) }
                let email = try accounts.resetPassword(code, to: password, in: realm).email
                return finished("The password has been successfully updated.", email, request)
            case "verifyEmail", "verifyAndChangeEmail", "recoverEmail":
                let user = try accounts.apply(code: code, in: realm).user
                return finished("The email has been successfully verified.", user.email, request)
            case "signIn": return signInRedirect(request)
            default: throw .request(.invalidArgument("Invalid mode"))
            }
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            return HTTPResponse(
                .badRequest,
                identity: JSONObject([
                    "authEmulator": .object(
                        JSONObject([
                            "error": .text("Your request failed: \(refusal.message)"),
                            "instructions": .text("Try asking for another link: it may have expired or been used."),
                        ]))
                ]))
        }
    }

    private func finished(_ text: String, _ email: String?, _ request: IdentityRequest) -> HTTPResponse {
        if let next = request.parameter("continueUrl"), let address = WebAddress(next) {
            return HTTPResponse.redirect(to: address.text)
        }
        let state = JSONObject(["success": .text(text), "email": email.map { .text($0) }])
        return HTTPResponse(identity: JSONObject(["authEmulator": .object(state)]))
    }
}
