import HTTPCodec

/// What a request asks for.
struct Route: Equatable {
    /// By method and path, in which a word in braces stands for any segment.
    enum Endpoint: String, CaseIterable {
        case logIn = "POST /api/login"
        case signUp = "POST /api/signup"
        case threads = "GET /api/threads"
        case addThread = "POST /api/thread/add"
        case deleteThread = "GET /api/thread/delete/{thread_id}"
        case messages = "GET /api/messages/{thread_id}"
        case addMessage = "POST /api/message/add"
        case deleteMessage = "GET /api/message/delete/{message_id}"

        var method: HTTPMethod { rawValue.hasPrefix("GET") ? .get : .post }

        private var segments: [Substring] {
            rawValue.drop { $0 != "/" }.split(separator: "/", omittingEmptySubsequences: false)
        }

        /// The segment for the word in braces, empty without one; nil for another path.
        func id(in path: [Substring]) -> Substring? {
            let segments = segments
            guard segments.count == path.count else { return nil }
            var id: Substring = ""
            for (segment, given) in zip(segments, path) {
                if segment.hasPrefix("{") { id = given } else if segment != given { return nil }
            }
            return id
        }
    }

    let endpoint: Endpoint
    /// The thread or the message that the path names.
    let id: String

    init(_ head: RequestHead) throws(APIFailure) {
        let path = String(decoding: head.path, as: UTF8.self).split(separator: "/", omittingEmptySubsequences: false)
        for endpoint in Endpoint.allCases {
            guard let id = endpoint.id(in: path) else { continue }
            guard head.method == endpoint.method else {
                throw APIFailure(
                    .methodNotAllowed, "It is \(endpoint.method.name) \(String(decoding: head.path, as: UTF8.self)).",
                    allowed: endpoint.method)
            }
            (self.endpoint, self.id) = (endpoint, Self.decoded(id))
            return
        }
        throw APIFailure(.notFound, "There is nothing at this path.")
    }

    /// A segment without its percent escapes (RFC 3986 2.1). A `%` without two hexadecimal digits stands for itself.
    private static func decoded(_ segment: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = segment[...]
        while let character = rest.popFirst() {
            let digits = rest.prefix(2)
            if character == "%", digits.count == 2, digits.allSatisfy(\.isHexDigit), let byte = UInt8(digits, radix: 16)
            {
                bytes.append(byte)
                rest = rest.dropFirst(2)
            } else {
                bytes += character.utf8
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
