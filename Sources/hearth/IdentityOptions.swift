import HearthServer
import Identity

extension IdentityConfiguration {
    /// What the options of `hearth serve` say about accounts.
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
        delivery = try Self.delivery(arguments, isDevelopment: isDevelopment)
        if case .none = delivery {
        } else if publicURL == nil, !isDevelopment {
            // Or whoever asks for a mail would say where its link leads.
            throw UsageError(message: "mails need --auth-url, the address to which their links lead")
        }
        if let count = try arguments.integer("auth-address-max", 1...1_000_000_000) {
            options.attemptsPerAddressMax = count
        }
    }

    private static func delivery(_ arguments: Arguments, isDevelopment: Bool) throws(UsageError) -> CodeDelivery {
        switch (arguments["mail-command"], arguments["smtp"], arguments["mail-from"]) {
        case (nil, nil, nil): return isDevelopment ? .log : .none
        case (let command?, nil, nil): return .command(command)
        case (nil, let relay?, let sender?):
            let parts = relay.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, let port = UInt16(parts[1]) else {
                throw UsageError(message: "--smtp must be a host and a port, not '\(relay)'")
            }
            return .relay(host: String(parts[0]), port: port, sender: sender)
        default: throw UsageError(message: "use --mail-command, or --smtp together with --mail-from")
        }
    }
}
