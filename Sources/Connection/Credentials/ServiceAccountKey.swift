package import HearthClientTransport
import HearthHTTPCodec
package import HearthJSONValues
import HearthJSONWebTokens
import HearthPlatform
package import HearthClientSession

/// The key of an administrator's program, as `hearth admin create-key` writes it: a file in Google's format for service
/// accounts (accounts.md 11). Its holder gets access tokens from the server that the file names.
package struct ServiceAccountKey: Sendable {
    /// Why a file is not such a key.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The result of the exchange.
    package struct AccessToken: Sendable {
        package var text: [UInt8]
        /// How long it is good for.
        package var seconds: Int64
    }

    /// An assertion is used at once; the rest is for clocks that differ.
    private static let assertionSeconds: Int64 = 600

    /// Where the server that gives tokens answers, which is where it answers administrators: `https://host:port`.
    package let server: String
    /// The account that the key is of.
    package let email: String
    /// The project in the file.
    package let project: String?
    private let key: SigningKey
    private let tokenURI: String
    private let address: HTTPAddress

    /// Reads the text of a file.
    package init(_ file: [UInt8]) throws(Failure) {
        guard let object = (try? JSONValue(parsing: file))?.object, let email = object["client_email"]?.text,
            let keyID = object["private_key_id"]?.text, let pem = object["private_key"]?.utf8,
            let tokenURI = object["token_uri"]?.text
        else {
            throw Failure(
                description: "no key of a service account: that is JSON with client_email, private_key_id, private_key "
                    + "and token_uri")
        }
        self.email = email
        project = object["project_id"]?.text
        self.tokenURI = tokenURI
        do throws(CryptographyError) {
            key = try SigningKey(id: keyID, pem: pem)
        } catch { throw Failure(description: "the private key cannot be used: \(error)") }
        do throws(DatabaseURLError) {
            address = try HTTPAddress(tokenURI)
        } catch { throw Failure(description: "token_uri: \(error.reason)") }
        server = (address.usesTLS ? "https://" : "http://") + address.authority
    }

    /// Signs an assertion and exchanges it for an access token (RFC 7523, section 2.1).
    ///
    /// - throws: `refused` with the server's text; `disconnected(.unreachable)` with the name of the server that gives
    ///     tokens, which need not be the database's.
    package func accessToken(
        on loop: any ClientLoop, options: ConnectionOptions = ConnectionOptions()
    ) async throws(ConnectionError) -> AccessToken {
        var call = HTTPCall(address)
        call.method = .post
        call.contentType = "application/x-www-form-urlencoded"
        // Neither has bytes that a form would encode, but for the colons.
        call.body = Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=".utf8)
        call.body += try assertion(now: WallClock.milliseconds / 1000)
        let body: [UInt8]
        do throws(ConnectionError) {
            body = try await call.answer(on: loop, options: options)
        } catch .disconnected(.unreachable(let text)) {
            throw .disconnected(.unreachable("\(tokenURI): \(text)"))
        } catch .refused(let status, let text) {
            throw .refused(status: status, text: "\(tokenURI): \(text)")
        }
        guard let object = (try? JSONValue(parsing: body))?.object, let text = object["access_token"]?.utf8 else {
            throw .protocolError("\(tokenURI) gives no access token")
        }
        return AccessToken(text: text, seconds: object["expires_in"]?.integer ?? 3600)
    }

    /// An assertion that the server takes once, for a page that has no key: base64url with dots.
    package func oneTimeCode() throws(ConnectionError) -> String {
        let code = try assertion(
            now: WallClock.milliseconds / 1000, seconds: Self.codeSeconds, name: Cryptography.randomName(43))
        return String(decoding: code, as: UTF8.self)
    }

    private static let codeSeconds: Int64 = 120
    /// The audience that every server accepts in an assertion, independent of its address.
    private static let anyServer = "https://oauth2.googleapis.com/token"

    private func assertion(
        now: Int64, seconds: Int64 = assertionSeconds, name: String? = nil
    ) throws(ConnectionError) -> [UInt8] {
        let claims = JSONObject([
            "iss": .text(email), "sub": .text(email), "aud": .text(name == nil ? tokenURI : Self.anyServer),
            "iat": .integer(now), "exp": .integer(now + seconds), "jti": name.map { .text($0) },
        ])
        return try signed(claims)
    }

    /// A token of the key.
    package func signed(_ claims: JSONObject) throws(ConnectionError) -> [UInt8] {
        do throws(CryptographyError) {
            return try JSONWebToken.signed(claims, with: key)
        } catch { throw .protocolError("the key cannot sign: \(error)") }
    }
}

extension ServiceAccountKey: Secret {}
