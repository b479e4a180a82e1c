import HearthJSONValues

/// How the passwords of a file of users were hashed: members of an import (accounts.md 14), and the options by which
/// 'firebase auth:import' and 'users import' are told.
struct PasswordHashing: Hashable {
    /// `hashAlgorithm` and its parameters; empty if nothing is known.
    var members = JSONObject()

    init(members: JSONObject) { self.members = members }

    /// The values of the options; nil if none is given.
    init?(_ arguments: ShellArguments) throws(ShellError) {
        guard let algorithm = arguments["hash-algo"]?.uppercased() else { return nil }
        members["hashAlgorithm"] = .text(algorithm)
        for (option, name) in Self.options(of: algorithm) {
            switch option {
            case "hash-key", "salt-separator": members[name] = arguments[option].map { .text($0) }
            case "hash-input-order":
                guard let text = arguments[option] else { continue }
                guard let order = Self.orders.first(where: { $0.option == text }) else {
                    throw arguments.misused("--hash-input-order is SALT_FIRST or PASSWORD_FIRST, not '\(text)'")
                }
                members[name] = .text(order.member)
            default: members[name] = try arguments.count(option, in: 0...1 << 30).map { .integer(Int64($0)) }
            }
        }
    }

    var algorithm: String? { members["hashAlgorithm"]?.text }

    /// The options, but for keys, which are secrets: those are in the file.
    var optionText: String {
        var words = ["--hash-algo=\(algorithm ?? "")"]
        for (option, name) in Self.options(of: algorithm ?? "") {
            guard let value = members[name] else { continue }
            let text =
                switch option {
                case "hash-key": "BASE64"
                case "hash-input-order": Self.orders.first { value.isText($0.member) }?.option ?? ""
                default: value.text ?? value.integer.map { String($0) } ?? ""
                }
            words.append("--\(option)=\(text)")
        }
        return words.joined(separator: " ")
    }

    /// Those by which an import is told.
    static let options: [CommandOption] = [
        .init(name: "hash-algo", value: "NAME", help: "BCRYPT, SCRYPT, STANDARD_SCRYPT, HMAC_SHA256, …"),
        .init(name: "hash-key", value: "BASE64", isSecret: true, help: "the key of HMAC_… and SCRYPT"),
        .init(name: "salt-separator", value: "BASE64", help: "of SCRYPT"),
        .init(name: "rounds", value: "N", help: "of MD5, SHA…, PBKDF… and SCRYPT"),
        .init(name: "mem-cost", value: "N", help: "of SCRYPT and STANDARD_SCRYPT"),
        .init(name: "parallelization", value: "N", help: "of STANDARD_SCRYPT"),
        .init(name: "block-size", value: "N", help: "of STANDARD_SCRYPT"),
        .init(name: "dk-len", value: "N", help: "of STANDARD_SCRYPT"),
        .init(name: "hash-input-order", value: "ORDER", help: "SALT_FIRST or PASSWORD_FIRST"),
    ]

    private static let orders: [(option: String, member: String)] = [
        ("SALT_FIRST", "SALT_AND_PASSWORD"), ("PASSWORD_FIRST", "PASSWORD_AND_SALT"),
    ]

    private static func options(of algorithm: String) -> [(option: String, member: String)] {
        [
            ("hash-key", "signerKey"), ("salt-separator", "saltSeparator"), ("rounds", "rounds"),
            ("mem-cost", algorithm == "STANDARD_SCRYPT" ? "cpuMemCost" : "memoryCost"),
            ("parallelization", "parallelization"), ("block-size", "blockSize"), ("dk-len", "dkLen"),
            ("hash-input-order", "passwordHashOrder"),
        ]
    }
}
