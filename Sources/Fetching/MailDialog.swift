import CHearthCurl

/// The conversation with a relay: libcurl leads it, and this follows it, to know what has failed.
final class MailDialog {
    /// What the relay is to answer. The credentials themselves are never kept.
    private enum Step {
        case greeting, hello, startTLS, credentials, address, data, text

        var wanted: (code: String, subject: String) {
            switch self {
            case .greeting, .startTLS: ("220", "")
            case .hello, .address, .text: ("250", "")
            case .credentials: ("235", " to the credentials")
            case .data: ("354", "")
            }
        }
    }

    private static let replyBytesMax = 64 << 10

    private let signsIn: Bool
    private var rest: ArraySlice<UInt8>
    private var step = Step.greeting
    /// libcurl says QUIT also after a refusal, whose reply is kept.
    private var hasQuit = false
    /// The last line of the answer to the step.
    private var reply: String?
    private var abilities: [String] = []
    /// Encryption is still to begin.
    private var awaitsTLS: Bool
    private var replyByteCount = 0
    /// The reason, if it is not libcurl's.
    private var refusal: String?

    /// - parameter signsIn: the relay is shown credentials.
    /// - parameter awaitsTLS: encryption begins with STARTTLS.
    init(_ message: [UInt8], signsIn: Bool, awaitsTLS: Bool) {
        rest = message[...]
        self.signsIn = signsIn
        self.awaitsTLS = awaitsTLS
    }

    func failure(_ code: CURLcode, _ text: String) -> FetchFailure {
        if let refusal { return .other(refusal) }
        if let reply, !reply.hasPrefix(step.wanted.code), step == .credentials ? !reply.hasPrefix("334") : true {
            return .other("it answered \(reply.prefix(200)), not \(step.wanted.code)\(step.wanted.subject)")
        }
        // Data from before the handshake is not authenticated.
        if step == .startTLS, reply != nil, code == CURLE_WEIRD_SERVER_REPLY {
            return .other("it speaks before TLS has begun")
        }
        return FetchFailure(code, text)
    }

    /// A command; answers to commands come one by one.
    private func note(_ command: some Sequence<UInt8>) {
        let verb = String(decoding: command.prefix { $0 > 0x20 }, as: UTF8.self)
        switch verb {
        case "EHLO", "HELO": step = .hello
        case "STARTTLS": step = .startTLS
        case "MAIL", "RCPT": step = .address
        case "DATA": step = .data
        case "QUIT":
            hasQuit = true
            return
        // Parts of them are lines without a verb.
        default: step = .credentials
        }
        (reply, abilities) = (nil, [])
    }

    /// Takes a line of an answer; false ends the conversation.
    private func take(_ line: UnsafeRawBufferPointer) -> Bool {
        if hasQuit { return true }
        replyByteCount += line.count
        guard replyByteCount <= Self.replyBytesMax else {
            refusal = "it says too much"
            return false
        }
        let text = String(decoding: line.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        abilities.append(String(text.dropFirst(4)))
        if text.dropFirst(3).first == "-" { return true }
        reply = text
        guard step == .hello, text.first == "2", signsIn else { return true }
        refusal = reasonNotToSignIn
        return refusal == nil
    }

    private var reasonNotToSignIn: String? {
        if awaitsTLS {
            awaitsTLS = false
            return abilities.contains("STARTTLS")
                ? nil : "it does not offer STARTTLS, and credentials are not shown without encryption"
        }
        // libcurl would go on without credentials. Some of its versions know these words in capitals only.
        let ways = abilities.first { $0.hasPrefix("AUTH ") }?.split(separator: " ").dropFirst() ?? []
        return ways.contains("PLAIN") || ways.contains("LOGIN")
            ? nil : "it takes credentials neither by PLAIN nor by LOGIN"
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        if step == .data { (step, reply) = (.text, nil) }
        let part = rest.prefix(buffer.count)
        buffer.copyBytes(from: part)
        rest = rest.dropFirst(part.count)
        return part.count
    }

    // MARK: Callbacks

    // The context of each is the dialog, which the handle keeps; the memory is libcurl's, until the callback returns.

    private static func dialog(_ context: UnsafeMutableRawPointer?) -> MailDialog {
        Unmanaged.fromOpaque(context!).takeUnretainedValue()
    }

    static let takeReply: curl_write_callback = { bytes, size, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : size * count)
        return MailDialog.dialog(context).take(line) ? line.count : 0
    }

    static let fillText: curl_read_callback = { bytes, size, count, context in
        MailDialog.dialog(context).fill(
            UnsafeMutableRawBufferPointer(start: bytes, count: bytes == nil ? 0 : size * count))
    }

    static let noteCommand: curl_debug_callback = { _, kind, bytes, count, context in
        if kind == CURLINFO_HEADER_OUT {
            MailDialog.dialog(context).note(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
        }
        return 0
    }

    static let openSocket: curl_opensocket_callback = { _, _, address in
        guard let address else { return CURL_SOCKET_BAD }
        return hearth_curl_socket(address)
    }
}
