import HearthHTTPCodec
import HearthIdentity
import HearthHTTPResponses

/// The pages of links in mails (accounts.md 7). Opening a link changes nothing, since mail scanners open links too; a
/// button does. The pages have no scripts, cannot be framed, and send no referrer.
extension IdentityService {
    func actionPage(_ request: IdentityRequest) -> HTTPResponse {
        if request.method != .get, request.method != .head, request.method != .post {
            return HTTPResponse(identity: .request(.notFound))
        }
        guard let mode = request.parameter("mode"), let code = request.parameter("oobCode") else {
            return ActionPage(title: "This link is incomplete", text: "Please open it exactly as in the mail.")
                .response(
                    .badRequest)
        }
        do throws(AccountFailure) {
            let realm = try realm(ofCode: code, tenant: request.parameter("tenantId"))
            if mode == "signIn" { return signInRedirect(request) }
            try count(.signIn, request)
            if request.method == .post { return try act(mode, code, request, realm) }
            return try ask(mode, code, realm)
        } catch {
            noteFailure(error, request)
            guard case .refused(let refusal) = error else { return HTTPResponse(identity: error) }
            return refusalPage(refusal)
        }
    }

    private func ask(_ mode: String, _ code: String, _ realm: Realm) throws(AccountFailure) -> HTTPResponse {
        let details = try accounts.inspectCode(code, in: realm)
        guard details.kind.mode == mode else { throw .refused(.invalidCode) }
        var page: ActionPage
        switch details.kind {
        case .resetPassword:
            page = ActionPage(title: "Choose a new password", text: "for \(details.email)", button: "Save")
            page.asksForPassword = true
        case .verifyEmail: page = ActionPage(title: "Verify your address", text: details.email, button: "Verify")
        case .verifyAndChangeEmail:
            page = ActionPage(
                title: "Verify your new address", text: details.newEmail ?? details.email, button: "Verify")
        case .recoverEmail, .emailSignIn:
            page = ActionPage(title: "Go back to your address", text: details.email, button: "Change it back")
        }
        return page.response()
    }

    private func act(
        _ mode: String, _ code: String, _ request: IdentityRequest, _ realm: Realm
    ) throws(AccountFailure) -> HTTPResponse {
        var page: ActionPage
        if mode == "resetPassword" {
            guard let password = try request.fields(allowsForm: true).text("newPassword") else {
                throw .refused(.missingPassword)
            }
            _ = try accounts.resetPassword(code, to: password, in: realm)
            page = ActionPage(title: "Your password is changed", text: "You can sign in with the new one now.")
        } else {
            let kind = try accounts.inspectCode(code, in: realm).kind
            let update = try accounts.apply(code: code, in: realm)
            noteChanges(update.changes, of: update.user, request)
            send(update.recovery, request, realm)
            if kind == .recoverEmail {
                issued.remove(code)
                return try recoveryPage(update.user, request, realm).response()
            }
            page = ActionPage(title: "Your address is verified", text: update.user.email ?? "")
        }
        issued.remove(code)
        if let next = request.parameter("continueUrl") { page.next = try continuation(next) }
        return page.response()
    }

    /// The person who changed the address may know the password, or have added sign-in methods. A password reset
    /// removes all of these, so the page links to one.
    private func recoveryPage(
        _ user: User, _ request: IdentityRequest, _ realm: Realm
    ) throws(AccountFailure) -> ActionPage {
        var page = ActionPage(title: "Your address is changed back", text: user.email ?? "")
        guard accounts.options.allowsPasswords, let email = user.email,
            let reset = try accounts.issueCode(
                .resetPassword, for: .email(email), newEmail: nil, in: realm, isAdmin: true
            ).issued
        else { return page }
        page.text +=
            ". Choose a new password now: until then, the person who changed the address may still be able to sign in. A "
            + "new password removes all other ways to sign in."
        let next = try continuation(request.parameter("continueUrl"))
        let link = CodeLink(reset, request, configuration, isDevelopment, next: next, tenant: realm.tenant)
        note(reset, link, realm)
        page.next = WebAddress(link.text)
        page.nextLabel = "Choose a new password"
        return page
    }

    /// A link to sign in leads into the app, with the code.
    func signInRedirect(_ request: IdentityRequest) -> HTTPResponse {
        do throws(AccountFailure) {
            guard let next = try continuation(request.parameter("continueUrl")) else {
                throw .refused(.missingContinueURI)
            }
            let query = String(decoding: request.query.bytes, as: UTF8.self)
            let page = next.text.prefix { $0 != "#" }
            let fragment = next.text[page.endIndex...]
            return HTTPResponse.redirect(to: page + (page.contains("?") ? "&" : "?") + query + fragment)
        } catch {
            return HTTPResponse(identity: error)
        }
    }

    private func refusalPage(_ refusal: AccountError) -> HTTPResponse {
        let (title, text) =
            switch refusal.code {
            case .expiredCode, .invalidCode:
                ("This link is of no use any more", "It is too old, or has been used. Please ask for another one.")
            case .weakPassword: ("This password will not do", refusal.detail ?? "")
            case .userDisabled: ("This account is disabled", "")
            default: ("That did not work", refusal.message)
            }
        return ActionPage(title: title, text: text).response(.badRequest)
    }
}

/// One page.
struct ActionPage {
    var title: String
    var text: String
    /// Of a form that posts to the same address.
    var button: String?
    var asksForPassword = false
    var next: WebAddress?
    var nextLabel = "Continue"

    init(title: String, text: String, button: String? = nil) {
        self.title = title
        self.text = text
        self.button = button
    }

    func response(_ status: HTTPStatus = .ok) -> HTTPResponse {
        var form = ""
        if let button {
            let field =
                asksForPassword
                ? """
                <p><input type="password" name="newPassword" minlength="6" required autofocus autocomplete="new-password" \
                aria-label="New password"></p>
                """ : ""
            form = "<form method=\"post\">\(field)<p><button>\(Self.escaped(button))</button></p></form>"
        }
        let link = next.map { "<p><a href=\"\(Self.escaped($0.text))\">\(Self.escaped(nextLabel))</a></p>" } ?? ""
        let page = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>\(Self.escaped(title))</title>
            <style>body{font:18px/1.5 system-ui,sans-serif;max-width:26em;margin:4em auto;padding:0 1em}\
            input,button{font:inherit;padding:.3em .6em;width:100%;box-sizing:border-box}</style></head>
            <body><h1>\(Self.escaped(title))</h1><p>\(Self.escaped(text))</p>\(form)\(link)</body></html>

            """
        var response = HTTPResponse(status, json: Array(page.utf8))
        response.contentType = .html
        response.cacheControl = "no-store"
        response.headers = [
            (
                "Content-Security-Policy",
                Array(
                    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
                        .utf8)
            ),
            ("X-Frame-Options", Array("DENY".utf8)), ("Referrer-Policy", Array("no-referrer".utf8)),
        ]
        return response
    }

    static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&#39;"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}

extension HTTPResponse {
    static func redirect(to target: String) -> HTTPResponse {
        var response = HTTPResponse(HTTPStatus(303), text: "")
        response.cacheControl = "no-store"
        response.headers = [
            ("Location", Array(target.utf8)), ("Referrer-Policy", Array("no-referrer".utf8)),
            ("X-Frame-Options", Array("DENY".utf8)),
        ]
        return response
    }
}
