package import HearthEventLoop

/// A request to another server over HTTP, and its limits. Redirections are not followed.
package struct FetchRequest: Sendable {
    package enum Method: Sendable {
        case get
        case post([UInt8])
    }

    package var address: FetchAddress
    package var method: Method
    /// Control bytes in values become spaces.
    package var headers: [(name: StaticString, value: [UInt8])] = []
    /// From the call to the end of the answer.
    package var timeout: Duration
    /// Bytes of the heads of the answer, all together.
    package var headBytesMax = 32 << 10
    /// Bytes of the body. Nil: the answer is its head, and the connection ends there.
    package var bodyBytesMax: Int?
    /// Which of the host's addresses may be connected to; nil for all. It is asked about the very addresses that are
    /// dialled, on the fetcher's thread.
    package var admits: (@Sendable (SocketAddress) -> Bool)?
    package var authorities = TLSContext.Authorities.system

    package init(_ method: Method, _ address: FetchAddress, timeout: Duration) {
        (self.method, self.address, self.timeout) = (method, address, timeout)
    }

    /// In the form of libcurl, which leaves out a name without a value unless a semicolon follows it.
    var headerLines: [String] {
        headers.map { name, value in
            let text = value.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }
            return text.isEmpty ? "\(name);" : "\(name): \(String(decoding: text, as: UTF8.self))"
        }
    }
}

package struct FetchAnswer: Sendable {
    package internal(set) var status: Int
    package internal(set) var body: [UInt8] = []
    /// The lines of the head after the first.
    var lines: [[UInt8]] = []

    /// The values of a header field, each without white space around it.
    ///
    /// - parameter name: in lower case.
    package func values(of name: StaticString) -> [[UInt8]] {
        lines.compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon == name.utf8CodeUnitCount else {
                return nil
            }
            let isNamed = name.withUTF8Buffer { wanted in
                wanted.elementsEqual(line[..<colon].lazy.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 })
            }
            return isNamed ? Self.trimmed(line[(colon + 1)...]) : nil
        }
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> [UInt8] {
        guard let first = value.firstIndex(where: { $0 > 0x20 }), let last = value.lastIndex(where: { $0 > 0x20 })
        else {
            return []
        }
        return Array(value[first...last])
    }
}
