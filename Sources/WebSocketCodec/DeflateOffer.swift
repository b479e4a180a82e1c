/// One wish of a client for permessage-deflate, and with the same fields a server's answer (RFC 7692 section 7.1).
package struct DeflateOffer: Equatable, Sendable {
    package static let extensionName = "permessage-deflate"

    package var serverNoContextTakeover = false
    package var clientNoContextTakeover = false
    /// The largest window the server may use, 8 to 15; nil leaves it free.
    package var serverMaxWindowBits: Int?
    /// The largest window the client will use, 8 to 15. In an offer 15 says that the client can follow any limit, and
    /// nil that it cannot follow one.
    package var clientMaxWindowBits: Int?

    package init() {}

    private enum Name {
        static let serverNoContextTakeover = "server_no_context_takeover"
        static let clientNoContextTakeover = "client_no_context_takeover"
        static let serverMaxWindowBits = "server_max_window_bits"
        static let clientMaxWindowBits = "client_max_window_bits"
    }

    /// Nil if a parameter is unknown, comes twice, or has a value it may not have. Only in an offer may
    /// `client_max_window_bits` have no value.
    package init?(_ parameters: [ExtensionElement.Parameter], isAnswer: Bool) {
        var seen: Set<String> = []
        for parameter in parameters {
            guard seen.insert(parameter.name).inserted else { return nil }
            switch (parameter.name, parameter.value) {
            case (Name.serverNoContextTakeover, nil): serverNoContextTakeover = true
            case (Name.clientNoContextTakeover, nil): clientNoContextTakeover = true
            case (Name.clientMaxWindowBits, nil) where !isAnswer: clientMaxWindowBits = 15
            case (Name.serverMaxWindowBits, let value?):
                guard let bits = Self.windowBits(value) else { return nil }
                serverMaxWindowBits = bits
            case (Name.clientMaxWindowBits, let value?):
                guard let bits = Self.windowBits(value) else { return nil }
                clientMaxWindowBits = bits
            default: return nil
            }
        }
    }

    /// A decimal number from 8 to 15 without leading zeros (RFC 7692 section 7.1.2).
    private static func windowBits(_ value: String) -> Int? {
        (8...15).first { String($0) == value }
    }

    /// As in `Sec-WebSocket-Extensions`.
    package func text(isAnswer: Bool) -> String {
        var text = Self.extensionName
        if serverNoContextTakeover { text += "; \(Name.serverNoContextTakeover)" }
        if clientNoContextTakeover { text += "; \(Name.clientNoContextTakeover)" }
        if let serverMaxWindowBits { text += "; \(Name.serverMaxWindowBits)=\(serverMaxWindowBits)" }
        if let clientMaxWindowBits {
            text += "; \(Name.clientMaxWindowBits)"
            if isAnswer || clientMaxWindowBits < 15 { text += "=\(clientMaxWindowBits)" }
        }
        return text
    }
}

extension DeflateOffer {
    /// The agreement of a client's offer and the server's answer; nil if the answer is not one to this offer (RFC 7692
    /// section 7.1) or wants a window of 256 bytes, which zlib's raw deflate cannot do.
    func agreed(answer: DeflateOffer) -> DeflateParameters? {
        guard answer.serverNoContextTakeover || !serverNoContextTakeover else { return nil }
        if let limit = serverMaxWindowBits {
            guard let bits = answer.serverMaxWindowBits, bits <= limit else { return nil }
        }
        var clientBits = clientMaxWindowBits ?? 15
        if let bits = answer.clientMaxWindowBits {
            guard let limit = clientMaxWindowBits, DeflateParameters.windowBitsMin...limit ~= bits else { return nil }
            clientBits = bits
        }
        return DeflateParameters(
            server: .init(
                noContextTakeover: answer.serverNoContextTakeover, windowBits: answer.serverMaxWindowBits ?? 15),
            client: .init(
                noContextTakeover: answer.clientNoContextTakeover || clientNoContextTakeover,
                windowBits: max(clientBits, DeflateParameters.windowBitsMin)))
    }
}
