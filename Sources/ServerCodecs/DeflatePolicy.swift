import HearthWebSocketCodec

/// A server's wishes for permessage-deflate. A server without a policy declines every offer.
package struct DeflatePolicy: Sendable {
    /// Whether the server promises to compress each message on its own, offered or not. It may then compress a message
    /// once for many connections, and keeps no window for any of them.
    package var serverNoContextTakeover = true
    /// Whether to ask the same of clients, so that nothing is kept between their messages.
    package var clientNoContextTakeover = true
    /// The largest window of the server, 9 to 15; 8 counts as 9, because zlib's raw deflate has no window of 256
    /// bytes.
    package var serverWindowBits = 15
    /// The largest window to allow clients that can follow a limit, 8 to 15.
    package var clientWindowBits = 15
    /// How much memory zlib spends on finding matches, 1 to 9. A compressor takes about
    /// 2^(windowBits + 2) + 2^(memoryLevel + 9) bytes.
    package var memoryLevel = 8
    /// How hard zlib tries, 1 to 9.
    package var level = 6

    package init() {}

    /// The first offer that can be met, in the client's order of preference (RFC 7692 section 5), and the answer to it.
    func choose(from elements: [ExtensionElement]) -> (answer: DeflateOffer, agreed: DeflateParameters)? {
        for element in elements where element.name == DeflateOffer.extensionName {
            guard let offer = DeflateOffer(element.parameters, isAnswer: false), let answer = answer(to: offer) else {
                continue
            }
            let agreed = DeflateParameters(
                server: .init(
                    noContextTakeover: answer.serverNoContextTakeover, windowBits: answer.serverMaxWindowBits ?? 15),
                client: .init(
                    noContextTakeover: answer.clientNoContextTakeover, windowBits: answer.clientMaxWindowBits ?? 15))
            return (answer, agreed)
        }
        return nil
    }

    /// Nil if the offer wants a window of 256 bytes, which zlib's raw deflate cannot do.
    private func answer(to offer: DeflateOffer) -> DeflateOffer? {
        var answer = DeflateOffer()
        answer.serverNoContextTakeover = serverNoContextTakeover || offer.serverNoContextTakeover
        answer.clientNoContextTakeover = clientNoContextTakeover || offer.clientNoContextTakeover
        let serverBits = min(max(serverWindowBits, DeflateParameters.windowBitsMin), offer.serverMaxWindowBits ?? 15)
        guard serverBits >= DeflateParameters.windowBitsMin else { return nil }
        // A limit in the offer must be answered by one; without it the answer names values other than the default.
        if offer.serverMaxWindowBits != nil || serverBits < 15 { answer.serverMaxWindowBits = serverBits }
        // Only a client that said it can follow a limit may be given one.
        if let offered = offer.clientMaxWindowBits {
            let clientBits = min(offered, max(clientWindowBits, 8))
            if clientBits < 15 { answer.clientMaxWindowBits = clientBits }
        }
        return answer
    }
}
