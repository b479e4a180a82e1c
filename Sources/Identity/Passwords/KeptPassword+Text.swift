import HearthBytes
import HearthJSONValues

/// `$SCHEME$PARAMETERS$SALT$HASH`: parameters as `name=value` between commas, bytes in Base64url.
extension KeptPassword {
    var text: String {
        func encoded(_ bytes: [UInt8]) -> String { String(decoding: Base64.url.encode(bytes), as: UTF8.self) }
        let head =
            switch scheme {
            case .scrypt(let cost): "scrypt$ln=\(cost.logarithm),r=\(cost.blockSize),p=\(cost.rounds)"
            case .firebase(let logarithm, let blockSize, let separator, let signerKey):
                "firebase$ln=\(logarithm),r=\(blockSize),ss=\(encoded(separator)),k=\(encoded(signerKey))"
            case .pbkdf2(let digest, let rounds): "pbkdf2-\(digest.rawValue)$i=\(rounds)"
            case .hmac(let digest, let key, let order): "hmac-\(digest.rawValue)$o=\(order.rawValue),k=\(encoded(key))"
            case .plain(let digest, let rounds, let order): "\(digest.rawValue)$i=\(rounds),o=\(order.rawValue)"
            case .bcrypt: "bcrypt$"
            }
        return "$\(head)$\(encoded(salt))$\(encoded(hash))"
    }

    /// Nil for a text that `text` does not make.
    init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, let salt = Base64.url.decode(parts[3].utf8),
            let hash = Base64.url.decode(parts[4].utf8), !hash.isEmpty
        else { return nil }
        let fields = Fields(parts[2])
        var scheme: Scheme?
        switch parts[1] {
        case "scrypt":
            if let logarithm = fields.number("ln"), let blockSize = fields.number("r"), let rounds = fields.number("p")
            {
                scheme = .scrypt(ScryptCost(logarithm: logarithm, blockSize: blockSize, rounds: rounds))
            }
        case "firebase":
            if let logarithm = fields.number("ln"), let blockSize = fields.number("r"),
                let separator = fields.bytes("ss"), let key = fields.bytes("k")
            {
                scheme = .firebase(
                    logarithm: logarithm, blockSize: blockSize, separator: separator, signerKey: key)
            }
        case "bcrypt": scheme = .bcrypt
        case let name:
            scheme = Self.digestScheme(name, fields)
        }
        guard let scheme else { return nil }
        self.init(scheme: scheme, salt: salt, hash: hash)
    }

    private static func digestScheme(_ name: Substring, _ fields: Fields) -> Scheme? {
        let words = name.split(separator: "-")
        guard let digest = words.last.flatMap({ Digest(rawValue: String($0)) }) else { return nil }
        switch words.dropLast() {
        case ["pbkdf2"]: return fields.number("i").map { .pbkdf2(digest, rounds: $0) }
        case ["hmac"]:
            guard let order = fields.order, let key = fields.bytes("k") else { return nil }
            return .hmac(digest, key: key, order: order)
        case []:
            guard let order = fields.order, let rounds = fields.number("i") else { return nil }
            return .plain(digest, rounds: rounds, order: order)
        default: return nil
        }
    }

    private struct Fields {
        private let fields: [Substring]

        init(_ text: Substring) { fields = text.split(separator: ",") }

        func text(_ name: String) -> Substring? {
            fields.first { $0.hasPrefix(name + "=") }?.dropFirst(name.utf8.count + 1)
        }

        func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

        func bytes(_ name: String) -> [UInt8]? { text(name).flatMap { Base64.url.decode($0.utf8) } }

        var order: Order? { text("o").flatMap { Order(rawValue: String($0)) } }
    }
}
