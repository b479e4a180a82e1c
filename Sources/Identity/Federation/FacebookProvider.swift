import HearthBytes
import HearthJSONValues
package import HearthJSONWebTokens

/// Facebook's access tokens, checked with its Graph API (accounts.md 4): first that the token was given to this
/// application, then whose it is.
package struct FacebookProvider: Sendable {
    package static let id = "facebook.com"
    /// Where the Graph API is.
    package static let graph = "https://graph.facebook.com/v21.0"

    private let applicationID: String
    private let secret: [UInt8]
    private let baseURL: String
    private let fetcher: any DocumentFetcher

    /// - parameter baseURL: of the Graph API, with its version, without a slash at the end.
    package init(
        applicationID: String, secret: String, baseURL: String = graph,
        fetcher: any DocumentFetcher
    ) {
        self.applicationID = applicationID
        self.secret = Array(secret.utf8)
        self.baseURL = baseURL
        self.fetcher = fetcher
    }

    /// Checks an access token, in two requests. Never waits.
    ///
    /// - parameter now: seconds since 1970.
    package func verify(_ accessToken: [UInt8], now: Int64, answer: @escaping ProviderAnswer) {
        guard 1...4096 ~= accessToken.count else { return answer(.failure(.token(.malformed))) }
        let ours = Array("\(applicationID)|".utf8) + secret
        get("debug_token", ["input_token": accessToken, "access_token": ours]) { reply in
            switch reply {
            case .failure(let error): answer(.failure(error))
            case .success(let object):
                guard let user = userID(object["data"]?.object, now: now) else { return answer(.failure(.refused)) }
                fetchProfile(of: user, accessToken, answer: answer)
            }
        }
    }

    /// Whose token it is, if it is good and was given to this application.
    private func userID(_ data: JSONObject?, now: Int64) -> [UInt8]? {
        guard let data, data["is_valid"]?.bool == true, data["app_id"]?.isText(applicationID) == true,
            let user = data["user_id"]?.utf8, 1...255 ~= user.count
        else { return nil }
        // 0 is for a token that does not end.
        let end = data["expires_at"]?.integer ?? 0
        return end == 0 || now < end ? user : nil
    }

    private func fetchProfile(of user: [UInt8], _ accessToken: [UInt8], answer: @escaping ProviderAnswer) {
        let proof = Hexadecimal.encode(Cryptography.hmacSHA256(accessToken, key: secret))
        let fields = Array("id,name,email,first_name,last_name,picture".utf8)
        get("me", ["fields": fields, "access_token": accessToken, "appsecret_proof": proof]) { reply in
            answer(
                reply.flatMap { profile in
                    // The token is the same, so this is the same user, unless Facebook contradicts itself.
                    guard profile["id"]?.utf8 == user else { return .failure(.refused) }
                    return .success(Self.identity(profile, rawID: String(decoding: user, as: UTF8.self)))
                })
        }
    }

    /// Facebook does not say whether it has made sure of an address, so none counts as verified.
    private static func identity(_ profile: JSONObject, rawID: String) -> ProviderIdentity {
        var identity = ProviderIdentity(provider: id, rawID: rawID, profile: profile)
        identity.email = profile["email"]?.text
        identity.displayName = profile["name"]?.text
        identity.firstName = profile["first_name"]?.text
        identity.lastName = profile["last_name"]?.text
        identity.photoURL = profile["picture"]?.object?["data"]?.object?["url"]?.text
        return identity
    }

    private func get(
        _ name: String, _ query: KeyValuePairs<String, [UInt8]>,
        then: @escaping @Sendable (Result<JSONObject, ProviderError>) -> Void
    ) {
        let parameters = query.map { "\($0)=\(Self.percentEncoded($1))" }.joined(separator: "&")
        fetcher.fetch(DocumentRequest(url: "\(baseURL)/\(name)?\(parameters)")) { result in
            guard case .success(let document) = result, document.status < 500 else {
                return then(.failure(.unavailable))
            }
            guard document.status == 200, document.body.count <= KeySet.byteCountMax,
                let object = (try? JSONValue(parsing: document.body))?.object
            else { return then(.failure(.refused)) }
            then(.success(object))
        }
    }

    /// RFC 3986, section 2: all but the unreserved characters.
    private static func percentEncoded(_ bytes: [UInt8]) -> String {
        var out = ""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                out.unicodeScalars.append(Unicode.Scalar(byte))
            default: out += "%" + String(decoding: Hexadecimal.encode([byte]), as: UTF8.self).uppercased()
            }
        }
        return out
    }
}
