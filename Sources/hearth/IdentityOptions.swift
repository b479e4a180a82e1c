import HearthIdentity
import HearthSystem
import HearthAccountEndpoints

extension IdentityConfiguration {
    /// The options of `hearth serve` about accounts.
    init(_ arguments: Arguments, isDevelopment: Bool) throws(UsageError) {
        self.init()
        options.protectsEmails = !isDevelopment
        func list(_ name: String) -> Set<String>? {
            arguments[name].map { text in
                Set(text.split(separator: ",").map { $0.trimmingPrefix(" ") }.map { String($0) })
            }
        }
        apiKeys = list("api-keys")
        if let domains = list("auth-domains") { authorizedDomains.formUnion(domains) }
        if let url = arguments["auth-url"] {
            guard url.hasPrefix("https://") || url.hasPrefix("http://"), !url.hasSuffix("/") else {
                throw UsageError(message: "--auth-url must be like https://example.com, not '\(url)'")
            }
            publicURL = url
        }
        if let url = arguments["token-url"] {
            guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
                throw UsageError(message: "--token-url must be like https://example.com/token, not '\(url)'")
            }
            tokenURL = url
        }
        if let names = list("tenants") {
            guard !names.isEmpty, names.allSatisfy(Realm.isValidName) else {
                throw UsageError(message: "--tenants must be names between commas, not '\(arguments["tenants"] ?? "")'")
            }
            options.tenants = names
        }
        delivery = try Self.delivery(arguments, isDevelopment: isDevelopment)
        if case .none = delivery {
        } else if publicURL == nil, !isDevelopment {
            // Otherwise a client that requests a mail would choose the host in its link.
            throw UsageError(message: "mails need --auth-url, the address to which their links lead")
        }
        if let count = try arguments.integer("auth-address-max", 1...1_000_000_000) {
            options.attemptsPerAddressMax = count
        }
    }

    private static func delivery(_ arguments: Arguments, isDevelopment: Bool) throws(UsageError) -> CodeDelivery {
        switch (arguments["mail-command"], arguments["smtp"], arguments["mail-from"]) {
        case (nil, nil, nil):
            guard arguments["smtp-user"] == nil else { throw UsageError(message: "--smtp-user needs --smtp") }
            return isDevelopment ? .log : .none
        case (let command?, nil, nil): return .command(command)
        case (nil, let relay?, let sender?):
            var settings = try relaySettings(relay, sender: sender)
            settings.credentials = try credentials(arguments)
            return .relay(settings)
        default: throw UsageError(message: "use --mail-command, or --smtp together with --mail-from")
        }
    }

    /// `HOST:PORT`, `smtp://HOST[:PORT]` or `smtps://HOST[:PORT]`, whose ports are 587 and 465 (RFC 8314).
    private static func relaySettings(_ text: String, sender: String) throws(UsageError) -> SMTPSettings {
        let usesTLS = text.hasPrefix("smtps://")
        let hasScheme = usesTLS || text.hasPrefix("smtp://")
        let address = hasScheme ? text.drop { $0 != ":" }.dropFirst(3) : text[...]
        let parts = address.split(separator: ":", omittingEmptySubsequences: false)
        let usualPort: UInt16? = hasScheme ? (usesTLS ? 465 : 587) : nil
        guard 1...2 ~= parts.count, !parts[0].isEmpty, !parts[0].contains("/"),
            let port = parts.count == 2 ? UInt16(parts[1]) : usualPort
        else {
            throw UsageError(message: "--smtp must be a host and a port, smtp://HOST or smtps://HOST, not '\(text)'")
        }
        var settings = SMTPSettings(host: String(parts[0]), port: port, sender: sender)
        settings.usesTLS = usesTLS
        return settings
    }

    private static func credentials(_ arguments: Arguments) throws(UsageError) -> SMTPSettings.Credentials? {
        switch (arguments["smtp-user"], arguments["smtp-password-file"]) {
        case (nil, nil): return nil
        case (let user?, let file?):
            guard let bytes = FileBytes.read(file) else { throw UsageError(message: "cannot read \(file)") }
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            guard !line.isEmpty else { throw UsageError(message: "\(file) holds no password") }
            return SMTPSettings.Credentials(user: user, password: String(decoding: line, as: UTF8.self))
        default: throw UsageError(message: "--smtp-user and --smtp-password-file belong together")
        }
    }
}
