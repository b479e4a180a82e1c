import HearthHTTPCodec
import HearthJSONValues

/// Requests to the account API, one a line, made one after the other of accounts that are few and new: `OPERATION
/// BODY`, and with a `!` in front as an administrator. In the body `$T`, `$R`, `$U` and `$C` stand for the last ID
/// token, refresh token, user and code. Each is answered, and the accounts stay in order.
public func fuzzAccountRequests(_ bytes: UnsafeRawBufferPointer) {
    _ = FuzzedServer.shared.ask(.delete, "/emulator/v1/projects/hearth/accounts")
    var names = Names()
    // Many say nothing that few do not.
    for line in bytes.split(separator: 0x0A).prefix(20) {
        let isAdmin = line.first == UInt8(ascii: "!")
        let parts = line.drop { $0 == UInt8(ascii: "!") }.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard let operation = parts.first.map({ String(decoding: $0, as: UTF8.self) }) else { continue }
        let body = names.filled(parts.count > 1 ? Array(parts[1]) : [])
        guard let (method, target) = request(operation, isAdmin: isAdmin) else { continue }
        let answer = FuzzedServer.shared.ask(method, target, isAdmin: isAdmin, body: body)
        // Missing parts count as present, and requests that wait for others cannot occur here.
        precondition(answer.status < 500 || answer.status == 501, "a request fails the server")
        guard case .object(let members)? = try? JSONValue(parsing: answer.body) else { continue }
        names.learn(members)
        if operation == "sendOobCode" { names.learnCode() }
    }
    check()
}

/// Names that a sequence has brought so far.
private struct Names {
    private var values: [UInt8: [UInt8]] = [:]

    mutating func learn(_ members: JSONObject) {
        for (mark, names) in [
            ("T", ["idToken", "id_token"]), ("R", ["refreshToken", "refresh_token"]), ("U", ["localId", "user_id"]),
            ("C", ["oobCode"]),
        ] as [(Unicode.Scalar, [String])] {
            for name in names { if let value = members[name]?.utf8 { values[UInt8(ascii: mark)] = value } }
        }
    }

    /// The code that a mail would have brought.
    mutating func learnCode() {
        let body = FuzzedServer.shared.ask(.get, "/emulator/v1/projects/hearth/oobCodes").body
        guard let codes = (try? JSONValue(parsing: body))?.object?["oobCodes"]?.array, let code = codes.last?.object
        else { return }
        learn(code)
    }

    func filled(_ body: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        var rest = body[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "$"), let mark = rest.first, let value = values[mark] {
                out += value
                rest.removeFirst()
            } else {
                out.append(byte)
            }
        }
        return out
    }
}

private func request(_ operation: String, isAdmin: Bool) -> (HTTPMethod, String)? {
    guard operation.utf8.count < 100, operation.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    let project = "/v1/projects/hearth"
    return switch operation {
    case "token": (.post, "/v1/token?key=k")
    case "create": (.post, "\(project)/accounts")
    case "createSessionCookie": (.post, "\(project):createSessionCookie")
    // The rest is the query of a request without a body.
    case _ where operation.hasPrefix("batchGet"): (.get, "\(project)/accounts:\(operation)")
    case _ where operation.hasPrefix("action?"): (.get, "/emulator/\(operation)")
    default: (.post, isAdmin ? "\(project)/accounts:\(operation)" : "/v1/accounts:\(operation)?key=k")
    }
}

/// No two users have the same id, address, number or account of a provider.
private func check() {
    let target = "/v1/projects/hearth/accounts:batchGet?maxResults=1000"
    let answer = FuzzedServer.shared.ask(.get, target, isAdmin: true)
    guard answer.status == 200, let object = (try? JSONValue(parsing: answer.body))?.object
    else { fatalError("the users cannot be listed") }
    var seen: Set<[UInt8]> = []
    for user in object["users"]?.array ?? [] {
        guard let user = user.object else { fatalError("a user is not an object") }
        for name in ["localId", "email", "phoneNumber"] {
            guard let value = user[name]?.utf8 else { continue }
            precondition(seen.insert(Array("\(name) ".utf8) + value).inserted, "two users have the same")
        }
        for link in user["providerUserInfo"]?.array ?? [] {
            guard let provider = link.object?["providerId"]?.utf8, let rawID = link.object?["rawId"]?.utf8 else {
                continue
            }
            precondition(seen.insert(provider + [0] + rawID).inserted, "two users have the same account of a provider")
        }
    }
}
