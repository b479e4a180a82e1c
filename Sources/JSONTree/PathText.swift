import HearthBytes

/// Why a text is not a path.
package enum PathError: Error, Hashable, Sendable {
    /// More than `Path.maximumDepth` keys.
    case tooDeep
    /// The key number `index`, counted from 0, is not one.
    case key(KeyError, index: Int)
    /// A `%` in a URL path without two hexadecimal digits after it.
    case invalidPercentEncoding
}

extension PathError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooDeep: "deeper than \(Path.maximumDepth) levels"
        case .key(let error, _): error.description
        case .invalidPercentEncoding: "a % without two hexadecimal digits"
        }
    }
}

extension Path {
    /// Levels below the root (Protocol.md 9).
    package static let maximumDepth = 32

    /// Reads the text form of the realtime protocol, raw keys between slashes: `/a/b`, `a//b/`, `` (the root). Empty
    /// parts do not count (Protocol.md 4.1).
    package init(parsing text: RawSpan) throws(PathError) {
        self = try text.withUnsafeBytes { (text) throws(PathError) in
            try PathReader.read(textByteCount: text.count) { (reader) throws(PathError) in
                try forEachPart(of: text) { (part) throws(PathError) in try reader.append(part) }
            }
        }
    }

    package init(parsing text: [UInt8]) throws(PathError) { try self.init(parsing: text.span.bytes) }

    package init(parsing text: String) throws(PathError) { try self.init(parsing: Array(text.utf8)) }

    /// Reads the path of a URL: split at slashes, then each part is percent-decoded (rest.md 1). `+` means itself.
    /// A `%2F` is a slash inside a key, hence an error.
    package init(percentEncoded text: RawSpan) throws(PathError) {
        self = try text.withUnsafeBytes { (text) throws(PathError) in
            var decoded: [UInt8] = []
            return try PathReader.read(textByteCount: text.count) { (reader) throws(PathError) in
                try forEachPart(of: text) { (part) throws(PathError) in
                    guard part.contains(UInt8(ascii: "%")) else { return try reader.append(part) }
                    decoded.removeAll(keepingCapacity: true)
                    guard appendPercentDecoded(part, to: &decoded) else { throw .invalidPercentEncoding }
                    try decoded.span.bytes.withUnsafeBytes { (part) throws(PathError) in try reader.append(part) }
                }
            }
        }
    }

    package init(percentEncoded text: [UInt8]) throws(PathError) { try self.init(percentEncoded: text.span.bytes) }

    package init(percentEncoded text: String) throws(PathError) { try self.init(percentEncoded: Array(text.utf8)) }

    /// Appends the text form, `a/b`, nothing for the root.
    package func appendText(to out: inout [UInt8]) {
        encoded.withUnsafeBytes { encoded in
            var start = 0
            while start < encoded.count {
                if start > 0 { out.append(UInt8(ascii: "/")) }
                let end = Path.segmentEnd(in: encoded, from: start)
                Segment.appendKey(of: encoded.part(start..<end), to: &out)
                start = end
            }
        }
    }

    /// The text form.
    package var text: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(encoded.count)
        appendText(to: &out)
        return out
    }
}

extension Path: CustomStringConvertible {
    package var description: String { "/" + String(decoding: text, as: UTF8.self) }
}

/// A path as a write names it: `a/b/.priority` means the priority of `a/b` (Protocol.md 4.5, 4.6).
package struct WriteTarget: Hashable, Sendable {
    package var path: Path
    package var isPriority: Bool

    package init(path: Path, isPriority: Bool = false) {
        self.path = path
        self.isPriority = isPriority
    }

    /// Reads the text form of the realtime protocol.
    package init(parsing text: RawSpan) throws(PathError) {
        self = try text.withUnsafeBytes { (text) throws(PathError) in
            var isPriority = false
            let path = try PathReader.read(textByteCount: text.count) { (reader) throws(PathError) in
                try forEachPart(of: text) { (part) throws(PathError) in
                    // Only the last part may name metadata; seen before another one it is an illegal key.
                    if isPriority { throw .key(.forbidden(byte: UInt8(ascii: ".")), index: reader.depth) }
                    if part[0] == UInt8(ascii: "."), part.elementsEqual(".priority".utf8) {
                        isPriority = true
                    } else {
                        try reader.append(part)
                    }
                }
            }
            return WriteTarget(path: path, isPriority: isPriority)
        }
    }

    package init(parsing text: [UInt8]) throws(PathError) { try self.init(parsing: text.span.bytes) }

    package init(parsing text: String) throws(PathError) { try self.init(parsing: Array(text.utf8)) }

    /// The text form: `a/b`, `a/b/.priority`.
    package var text: [UInt8] {
        guard isPriority else { return path.text }
        return path.text + (path.isRoot ? ".priority" : "/.priority").utf8
    }
}

/// Gathers the keys of a text into an encoded path.
private struct PathReader {
    /// Invariant: the first `count` bytes are initialised, and there is room for all segments that ``append(_:)`` lets
    /// pass.
    private let encoded: UnsafeMutableRawBufferPointer
    private var count = 0
    private(set) var depth = 0

    /// - parameter textByteCount: of all keys together, at most.
    static func read(
        textByteCount: Int, _ body: (inout PathReader) throws(PathError) -> Void
    ) throws(PathError) -> Path {
        // A segment has two bytes more than its key, or seven.
        let keyByteCountMax = min(textByteCount, Path.maximumDepth * Key.maximumByteCount)
        let byteCount = keyByteCountMax + Path.maximumDepth * Segment.integerByteCount
        return try withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { memory in
            Result { () throws(PathError) in
                var reader = PathReader(encoded: memory)
                try body(&reader)
                return Path(encoded: [UInt8](UnsafeRawBufferPointer(rebasing: memory[..<reader.count])))
            }
        }.get()
    }

    private init(encoded: UnsafeMutableRawBufferPointer) { self.encoded = encoded }

    mutating func append(_ key: UnsafeRawBufferPointer) throws(PathError) {
        do throws(KeyError) { try Key.check(key) } catch { throw .key(error, index: depth) }
        if depth == Path.maximumDepth { throw .tooDeep }
        count += Segment.write(key: key, to: UnsafeMutableRawBufferPointer(rebasing: encoded[count...]))
        depth += 1
    }
}

/// Calls `body` with each part between slashes that is not empty.
private func forEachPart(
    of text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(PathError) -> Void
) throws(PathError) {
    var start = 0
    while start < text.count {
        var end = start
        while end < text.count, text[end] != UInt8(ascii: "/") { end += 1 }
        if end > start { try body(text.part(start..<end)) }
        start = end + 1
    }
}

/// False if a `%` is not followed by two hexadecimal digits.
private func appendPercentDecoded(_ text: UnsafeRawBufferPointer, to out: inout [UInt8]) -> Bool {
    var offset = 0
    while offset < text.count {
        if text[offset] != UInt8(ascii: "%") {
            out.append(text[offset])
            offset += 1
            continue
        }
        guard offset + 2 < text.count, let high = Hexadecimal.value(text[offset + 1]),
            let low = Hexadecimal.value(text[offset + 2])
        else {
            return false
        }
        out.append(high << 4 | low)
        offset += 3
    }
    return true
}
