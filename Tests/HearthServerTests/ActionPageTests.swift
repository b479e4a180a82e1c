import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthTestSupport
import Testing
@testable import HearthAccountEndpoints

@Suite("The pages of links in mails (accounts.md 7)") struct ActionPageTests {
    @Test("a reset in production: a page with a form, which is sent, and safe headers")
    func page() throws {
        let folder = TemporaryFolder()
        let client = try IdentityClient(isDevelopment: false) {
            $0.publicURL = "https://auth.example.com"
            $0.delivery = .command("cat > \(folder.path)/mail.part; mv \(folder.path)/mail.part \(folder.path)/mail")
        }
        _ = try client.signUp("ann@example.com")
        let sent = try client.post(
            "sendOobCode",
            #"{"requestType":1,"email":"ann@example.com","continueUrl":"http://localhost/app?a=<b>"}"#)
        #expect(sent.error?.hasPrefix("INVALID_CONTINUE_URI") == true)
        #expect(
            try client.post(
                "sendOobCode", #"{"requestType":1,"email":"ann@example.com","continueUrl":"http://localhost/app?a=b"}"#
            ).status == 200)
        let mail = try MailBox(folder).mail()
        #expect(mail.contains("To: <ann@example.com>\r\n"))
        #expect(mail.contains("Subject: Reset your password\r\n"))
        let link = try #require(
            mail.split(separator: "\r\n").first { $0.hasPrefix("https://auth.example.com/auth/action?") })
        let path = String(link.dropFirst("https://auth.example.com".utf8.count))
        // Programs that look through mails open links, which changes nothing.
        for _ in 0..<2 {
            let page = try client.rest.ask("GET", path)
            #expect(page.status == 200)
            #expect(page.text.contains("<form method=\"post\">"))
            #expect(page.text.contains("ann@example.com"))
            #expect(page.field("content-type") == "text/html; charset=utf-8")
            #expect(page.field("x-frame-options") == "DENY")
            #expect(page.field("referrer-policy") == "no-referrer")
            #expect(page.field("x-content-type-options") == "nosniff")
            #expect(page.field("cache-control") == "no-store")
            #expect(page.field("content-security-policy")?.contains("frame-ancestors 'none'") == true)
        }
        let form = ["Content-Type: application/x-www-form-urlencoded"]
        #expect(try client.rest.ask("POST", path, form, "newPassword=short").status == 400)
        let done = try client.rest.ask("POST", path, form, "newPassword=secret+2%21")
        #expect(done.status == 200)
        #expect(done.text.contains("<a href=\"http://localhost/app?a=b\">Continue</a>"))
        #expect(try client.signIn("ann@example.com", "secret 2!").status == 200)
        #expect(try client.rest.ask("GET", path).status == 400)
        #expect(try client.rest.ask("GET", "/auth/action").status == 400)
    }

    @Test("the page that restores an address links to a password reset, which locks the thief out")
    func recovery() throws {
        let folder = TemporaryFolder()
        let client = try IdentityClient(isDevelopment: false) {
            $0.publicURL = "https://auth.example.com"
            $0.delivery = .command("cat > \(folder.path)/mail.part; mv \(folder.path)/mail.part \(folder.path)/mail")
        }
        let token = try #require(try client.signUp("ann@example.com")["idToken"])
        let taken = try client.post(
            "update", #"{"idToken":"\#(token)","email":"thief@example.com","password":"thief-1"}"#)
        #expect(taken.status == 200)
        func path(_ text: Substring?) throws -> String {
            let link = try #require(text).replacing("&amp;", with: "&")
            return String(link.dropFirst("https://auth.example.com".utf8.count))
        }
        let mail = try MailBox(folder).mail()
        #expect(mail.contains("To: <ann@example.com>\r\n"))
        let back = try client.rest.ask(
            "POST", path(mail.split(separator: "\r\n").first { $0.hasPrefix("https://auth.example.com/") }))
        #expect(back.status == 200)
        #expect(back.text.contains("Your address is changed back"))
        #expect(!back.text.contains("verified"))
        let reset = try path(back.text.split(separator: "\"").first { $0.hasPrefix("https://auth.example.com/") })
        #expect(reset.contains("mode=resetPassword"))
        let form = ["Content-Type: application/x-www-form-urlencoded"]
        #expect(try client.rest.ask("POST", reset, form, "newPassword=secret2").status == 200)
        #expect(try client.signIn("ann@example.com", "thief-1").error == "INVALID_PASSWORD")
        #expect(try client.signIn("ann@example.com", "secret2").status == 200)
    }

    @Test("tests of apps follow links without a page, as with the official emulator")
    func emulator() throws {
        let client = try IdentityClient()
        let up = try client.signUp("ann@example.com")
        let token = try #require(up["idToken"])
        _ = try client.post("sendOobCode", #"{"requestType":"VERIFY_EMAIL","idToken":"\#(token)"}"#)
        let code = try client.lastCode()
        #expect(code["requestType"]?.text == "VERIFY_EMAIL")
        #expect(code["email"]?.text == "ann@example.com")
        let link = try #require(code["oobLink"]?.text)
        let path = try #require(link.firstRange(of: "/emulator/action").map { String(link[$0.lowerBound...]) })
        let done = try client.ask("GET", path)
        #expect(done.object("authEmulator")?["email"]?.text == "ann@example.com")
        #expect(try client.ask("GET", path).status == 400)
        _ = try client.post("sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"ann@example.com"}"#)
        let reset = try #require(try client.lastCode()["oobCode"]?.text)
        let told = try client.post("resetPassword", #"{"oobCode":"\#(reset)"}"#)
        #expect(told["requestType"] == "PASSWORD_RESET")
        #expect(told["email"] == "ann@example.com")
        let moved = try client.rest.ask(
            "GET",
            "/emulator/action?mode=resetPassword&oobCode=\(reset)&newPassword=secret2&continueUrl=http%3A%2F%2Flocalhost%2Fx"
        )
        #expect(moved.status == 303)
        #expect(moved.field("location") == "http://localhost/x")
        #expect(try client.signIn("ann@example.com", "secret2").status == 200)
        _ = try client.post(
            "sendOobCode",
            #"{"requestType":"EMAIL_SIGNIN","email":"bob@example.com","continueUrl":"http://localhost/app"}"#)
        let signIn = try #require(try client.lastCode()["oobLink"]?.text)
        let target = try client.rest.ask(
            "GET", try #require(signIn.firstRange(of: "/emulator/action").map { String(signIn[$0.lowerBound...]) }))
        #expect(target.field("location")?.hasPrefix("http://localhost/app?mode=signIn&") == true)
        // The page of an app may be in the fragment, which stays the end.
        for (next, expected) in [("app#/in", "app?mode=signIn&"), ("app?x=1#/in", "app?x=1&mode=signIn&")] {
            let place = "/emulator/action?mode=signIn&oobCode=1&continueUrl=http%3A%2F%2Flocalhost%2F"
            let moved = try client.rest.ask("GET", place + next.replacing("?", with: "%3F").replacing("#", with: "%23"))
            #expect(moved.field("location")?.hasPrefix("http://localhost/" + expected) == true, "\(next)")
            #expect(moved.field("location")?.hasSuffix("#/in") == true, "\(next)")
        }
        let oobCode = try #require(try client.lastCode()["oobCode"]?.text)
        let bob = try client.post("signInWithEmailLink", #"{"email":"bob@example.com","oobCode":"\#(oobCode)"}"#)
        #expect(bob.members["isNewUser"]?.bool == true)
    }

    @Test(
        "text that only looks like a link",
        arguments: [
            "javascript:alert(1)", "//evil", "ftp://x", "http://", "http:///x", "https://a@b", "http://a\\b",
            "http://a\"b",
            "http://a b", "http:\u{9}//a", "http://a/\r\nx",
        ])
    func notAddresses(text: String) {
        #expect(WebAddress(text) == nil)
    }

    @Test(
        "the host of a link",
        arguments: [
            ("http://localhost", "localhost"), ("HTTPS://A.example:8443/x?y#z", "a.example"),
            ("http://[::1]:80/", "[::1]"),
            ("http://a?b@c", "a"),
        ])
    func hosts(text: String, host: String) {
        #expect(WebAddress(text)?.host == host)
    }

    @Test("text becomes no markup")
    func escaping() {
        #expect(ActionPage.escaped("<a href='x'>&\"") == "&lt;a href=&#39;x&#39;&gt;&amp;&quot;")
    }
}
