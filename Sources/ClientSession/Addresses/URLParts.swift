/// The pieces of a URL that matter here: scheme, host, port, and path and query as they are written.
struct URLParts {
    var isSecureScheme: Bool
    var host: String
    var isIPv6 = false
    var port: UInt16?
    var path: ArraySlice<UInt8>
    var query: ArraySlice<UInt8>

    init(_ text: String) throws(DatabaseURLError) {
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw DatabaseURLError("a URL has no white space")
        }
        let scheme = text.prefix { $0 != ":" }
        guard text.dropFirst(scheme.count).hasPrefix("://"),
            let isSecure = ["ws": false, "http": false, "wss": true, "https": true][scheme.lowercased()]
        else { throw DatabaseURLError("a database URL begins with ws://, wss://, http:// or https://") }
        isSecureScheme = isSecure
        let rest = Array(text.dropFirst(scheme.count + 3).utf8)
        let mark = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let slash = rest[..<mark].firstIndex(of: UInt8(ascii: "/")) ?? mark
        path = rest[slash..<mark]
        query = rest[mark...].dropFirst()
        guard !rest.contains(UInt8(ascii: "#")) else { throw DatabaseURLError("a URL has no fragment") }
        (host, port) = ("", nil)
        try read(authority: String(decoding: rest[..<slash], as: UTF8.self))
    }

    private mutating func read(authority: String) throws(DatabaseURLError) {
        guard !authority.contains("@") else { throw DatabaseURLError("a URL has no user name") }
        var portText: Substring?
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { throw DatabaseURLError("a ] is missing") }
            host = String(authority[authority.index(after: authority.startIndex)..<bracket])
            isIPv6 = true
            let behind = authority[authority.index(after: bracket)...]
            guard behind.isEmpty || behind.hasPrefix(":") else {
                throw DatabaseURLError("a port follows a colon")
            }
            portText = behind.isEmpty ? nil : behind.dropFirst()
        } else {
            let pieces = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = String(pieces[0])
            portText = pieces.count > 1 ? pieces[1] : nil
        }
        guard !host.isEmpty else { throw DatabaseURLError("the host is missing") }
        guard let portText else { return }
        guard portText.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt16(portText), number > 0
        else { throw DatabaseURLError("'\(portText)' is not a port") }
        port = number
    }
}
