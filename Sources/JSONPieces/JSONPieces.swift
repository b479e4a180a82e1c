package import HearthJSONTree

/// Reads a JSON text of any size, as it comes, and cuts it into values small enough to be written one by one.
///
/// A value of up to `pieceBytesMax` bytes of text is one piece; a larger object or array is spread over the pieces of
/// its children, recursively. Every piece goes through the strict parser of ``CanonicalJSON``, and the text between
/// pieces is checked just as strictly, so a text is accepted exactly if it would be as a whole. Memory is bounded by
/// `pieceBytesMax` and the longest string.
///
///     var pieces = JSONPieces(at: place)
///     pieces.append(bytes)
///     while case .piece(let piece) = try pieces.next() { … }
///
/// Writing the pieces in order to an empty place (or, with `merges`, to one with a value) results in the value of the
/// text.
package struct JSONPieces {
    package enum Piece: Hashable, Sendable {
        /// Replaces the value at the path. Null if there may be an earlier value.
        case value(Path, CanonicalJSON, hasServerValues: Bool)
        /// Something may be there that must go before the pieces below the path, which follow.
        case clear(Path)
        /// The priority of a node whose children came before.
        case priority(Path, CanonicalJSON, hasServerValues: Bool)
    }

    package enum Step: Hashable, Sendable {
        case piece(Piece)
        /// All appended bytes are used up.
        case needsMore
        /// The whole text was read.
        case end
    }

    /// The tokens that may come next, after white space.
    private enum Expected {
        case value
        case keyOrEnd
        case key
        case colon
        case elementOrEnd
        case element
        case commaOrEnd
        case nothing
    }

    /// The role of the value under way in the innermost open object.
    private enum Role {
        case child
        case priority
        case leafValue
    }

    /// An object or array that is spread over pieces.
    private struct Open {
        var path: Path
        var depth: Int
        var isArray: Bool
        /// The position of its bracket in the text.
        var opening: Int
        /// The places that its members name may have something in them already.
        var replaces: Bool
        /// The place of the greatest key so far: one that is greater cannot have come before.
        var greatest: Path?
        /// Elements read so far.
        var elements: Int32 = 0
        var hasChildren = false
        var priority: (json: CanonicalJSON, hasServerValues: Bool)?
        var value: (json: CanonicalJSON, hasServerValues: Bool)?
    }

    private let place: Path
    private let merges: Bool
    private let pieceBytesMax: Int
    private let stringByteCount: Int

    /// Text that is not used up begins at `position`; the bytes before `buffer` are `dropped` many.
    private var buffer: [UInt8] = []
    private var position = 0
    private var dropped = 0
    private var isComplete = false
    private var scan = ValueScan()

    private var expected = Expected.value
    private var open: [Open] = []
    /// The value under way.
    private var child: Child

    private struct Child {
        var path: Path
        var depth: Int
        var role = Role.child
        /// Something may be in its place already.
        var mayBeThere = false
    }

    /// - parameter place: where the value goes; its depth counts against the greatest one.
    /// - parameter merges: each child in the text replaces the one at its place; others, and the priority, stay.
    package init(
        at place: Path, merges: Bool = false, pieceBytesMax: Int = 64 << 10,
        stringByteCount: Int = CanonicalJSON.Limits().stringByteCount
    ) {
        self.place = place
        self.merges = merges
        self.pieceBytesMax = pieceBytesMax
        self.stringByteCount = stringByteCount
        child = Child(path: place, depth: place.depth)
    }

    /// Bytes of the text before the unread part.
    package var offset: Int { dropped + position }

    /// Adds the next bytes of the text. To be called when ``next()`` needs more.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if position > 0 {
            buffer.removeSubrange(..<position)
            dropped += position
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// There are no more bytes.
    package mutating func finish() { isComplete = true }

    /// Reads on. After an error there is nothing more to read.
    package mutating func next() throws(JSONPieceError) -> Step {
        while true {
            skipWhiteSpace()
            guard position < buffer.count else {
                if !isComplete { return .needsMore }
                if expected == .nothing { return .end }
                throw failure(.unexpectedEnd)
            }
            switch expected {
            case .nothing: throw failure(.trailingBytes)
            case .colon:
                guard buffer[position] == UInt8(ascii: ":") else { throw unexpectedByte }
                position += 1
                expected = .value
            case .keyOrEnd where buffer[position] == UInt8(ascii: "}"),
                .elementOrEnd where buffer[position] == UInt8(ascii: "]"):
                if let piece = try close() { return .piece(piece) }
            case .key, .keyOrEnd:
                guard try readKey() else { return .needsMore }
            case .element, .elementOrEnd: try beginElement()
            case .commaOrEnd:
                if let piece = try readSeparator() { return .piece(piece) }
            case .value:
                switch try readValue() {
                case .piece(let piece): return .piece(piece)
                case .needsMore: return .needsMore
                case .end: break
                }
            }
        }
    }

    // MARK: Between values

    private mutating func skipWhiteSpace() {
        while position < buffer.count {
            let byte = buffer[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position += 1
        }
    }

    private mutating func readSeparator() throws(JSONPieceError) -> Piece? {
        let isArray = open[open.count - 1].isArray
        switch buffer[position] {
        case UInt8(ascii: ","):
            position += 1
            expected = isArray ? .element : .key
            return nil
        case UInt8(ascii: "]") where isArray, UInt8(ascii: "}") where !isArray: return try close()
        default: throw unexpectedByte
        }
    }

    private mutating func beginElement() throws(JSONPieceError) {
        let top = open[open.count - 1]
        guard top.depth < Path.maximumDepth else { throw tooDeep }
        child = Child(
            path: top.path.appending(Key(top.elements)), depth: top.depth + 1, mayBeThere: top.replaces)
        open[open.count - 1].elements += 1
        expected = .value
    }

    /// False if the key is not complete.
    private mutating func readKey() throws(JSONPieceError) -> Bool {
        guard buffer[position] == UInt8(ascii: "\"") else { throw unexpectedByte }
        // An escape has up to six bytes for one.
        let bytesMax = 6 * Key.maximumByteCount + 2
        let end = scan.end(of: buffer, from: position, containerBytesMax: 0, stringBytesMax: bytesMax)
        guard case .at(let end) = end else {
            if case .beyondLimit = end { throw failure(.key(.tooLong(byteCount: bytesMax))) }
            if isComplete { _ = try keyBytes(position..<buffer.count) }
            return false
        }
        let top = open[open.count - 1]
        let utf8 = try keyBytes(position..<end)
        if utf8.first == UInt8(ascii: ".") {
            child = Child(path: top.path, depth: top.depth, role: try role(ofMetadata: utf8))
        } else {
            let key: Key
            do throws(KeyError) { key = try Key(validating: utf8) } catch { throw failure(.key(error)) }
            guard top.depth < Path.maximumDepth else { throw tooDeep }
            let path = top.path.appending(key)
            let mayBeAgain = top.greatest.map { path <= $0 } ?? false
            if !mayBeAgain { open[open.count - 1].greatest = path }
            child = Child(path: path, depth: top.depth + 1, mayBeThere: top.replaces || mayBeAgain)
        }
        advance(to: end)
        expected = .colon
        return true
    }

    private func keyBytes(_ range: Range<Int>) throws(JSONPieceError) -> [UInt8] {
        let text = try parse(range, prefix: "", suffix: "", depth: 0).json.bytes
        var utf8: [UInt8] = []
        text.dropFirst().dropLast().withUnsafeBytes { JSONText.appendUnescaped($0, to: &utf8) }
        return utf8
    }

    private func role(ofMetadata key: [UInt8]) throws(JSONPieceError) -> Role {
        if key.elementsEqual(".priority".utf8) { return .priority }
        if key.elementsEqual(".value".utf8) { return .leafValue }
        // A server value is small, so it is never spread.
        throw failure(key.elementsEqual(".sv".utf8) ? .invalidServerValue : .unknownMetadata)
    }

    // MARK: Values

    /// `end` if there is nothing to write.
    private mutating func readValue() throws(JSONPieceError) -> Step {
        let first = buffer[position]
        let isContainer = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        let isMergedRoot = merges && open.isEmpty
        if isContainer, isMergedRoot { return begin() }
        if !isContainer, ValueScan.isDelimiter(first) { throw unexpectedByte }
        let scanned = scan.end(
            of: buffer, from: position, containerBytesMax: pieceBytesMax, stringBytesMax: 6 * stringByteCount + 2)
        switch scanned {
        case .at(let end): return try readPiece(end)
        case .incomplete where isComplete && !isContainer: return try readPiece(buffer.count)
        case .incomplete where isComplete && isContainer && child.role == .child: return begin()
        case .incomplete where isComplete: throw failure(.unexpectedEnd, at: dropped + buffer.count)
        case .incomplete: return .needsMore
        case .beyondLimit:
            switch (first, child.role) {
            case (UInt8(ascii: "\""), _): throw failure(.stringTooLong(limit: stringByteCount))
            case _ where !isContainer: throw failure(.invalidNumber)
            case (_, .child): return begin()
            case (_, .priority): throw failure(.invalidPriority)
            case (_, .leafValue): throw failure(.invalidValueWrapper)
            }
        }
    }

    /// Spreads the object or array that begins here.
    private mutating func begin() -> Step {
        let isArray = buffer[position] == UInt8(ascii: "[")
        open.append(
            Open(
                path: child.path, depth: child.depth, isArray: isArray, opening: offset,
                replaces: merges && open.isEmpty))
        advance(to: position + 1)
        expected = isArray ? .elementOrEnd : .keyOrEnd
        return child.mayBeThere ? .piece(.clear(child.path)) : .end
    }

    private mutating func readPiece(_ end: Int) throws(JSONPieceError) -> Step {
        let range = position..<end
        switch child.role {
        case .priority:
            let parsed = try parse(range, prefix: #"{".priority":"#, suffix: #","a":0}"#, depth: 1)
            let priority = parsed.json.priority
            open[open.count - 1].priority = priority.isNull ? nil : (priority, parsed.hasServerValues)
        case .leafValue:
            let parsed = try parse(range, prefix: #"{".value":"#, suffix: "}", depth: 0)
            open[open.count - 1].value = parsed.json.isNull ? nil : parsed
            try checkWrapper()
        case .child:
            let parsed = try parse(range, prefix: "", suffix: "", depth: Path.maximumDepth - child.depth)
            advance(to: end)
            return try finishValue(parsed)
        }
        advance(to: end)
        expected = .commaOrEnd
        return .end
    }

    /// The value of `child` is known.
    private mutating func finishValue(
        _ value: (json: CanonicalJSON, hasServerValues: Bool)
    ) throws(JSONPieceError) -> Step {
        let piece = Piece.value(child.path, value.json, hasServerValues: value.hasServerValues)
        if open.isEmpty {
            expected = .nothing
            return .piece(piece)
        }
        expected = .commaOrEnd
        if value.json.isNull { return child.mayBeThere ? .piece(piece) : .end }
        try noteChild()
        return .piece(piece)
    }

    private mutating func noteChild() throws(JSONPieceError) {
        open[open.count - 1].hasChildren = true
        try checkWrapper()
    }

    /// `.value` and children exclude each other.
    private func checkWrapper() throws(JSONPieceError) {
        let top = open[open.count - 1]
        if top.hasChildren, top.value != nil { throw failure(.invalidValueWrapper, at: top.opening) }
    }

    /// The innermost open object or array ends here.
    private mutating func close() throws(JSONPieceError) -> Piece? {
        advance(to: position + 1)
        expected = open.count > 1 ? .commaOrEnd : .nothing
        guard let last = open.popLast(), last.hasChildren || last.value != nil else { return nil }
        if !open.isEmpty { try noteChild() }
        if let value = last.value {
            let hasServerValues = value.hasServerValues || last.priority?.hasServerValues ?? false
            return .value(last.path, value.json.with(last.priority?.json), hasServerValues: hasServerValues)
        }
        return last.priority.map { .priority(last.path, $0.json, hasServerValues: $0.hasServerValues) }
    }

    private mutating func advance(to end: Int) {
        position = end
        scan = ValueScan()
    }

    /// Parses a part of the buffer as it would be within `prefix` and `suffix`.
    private func parse(
        _ range: Range<Int>, prefix: StaticString, suffix: StaticString, depth: Int
    ) throws(JSONPieceError) -> (json: CanonicalJSON, hasServerValues: Bool) {
        let limits = CanonicalJSON.Limits(depth: depth, stringByteCount: stringByteCount)
        var error: JSONError
        do throws(JSONError) {
            guard prefix.utf8CodeUnitCount > 0 else {
                let parsed = try CanonicalJSON.parse(buffer.span.extracting(range).bytes, limits: limits)
                return (parsed.value, parsed.hasServerValues)
            }
            var text = prefix.withUTF8Buffer { Array($0) }
            text += buffer[range]
            suffix.withUTF8Buffer { text.append(contentsOf: $0) }
            let parsed = try CanonicalJSON.parse(text, limits: limits)
            return (parsed.value, parsed.hasServerValues)
        } catch let thrown {
            error = thrown
        }
        error.offset = min(max(error.offset - prefix.utf8CodeUnitCount, 0), range.count)
        // A scalar seems to end too early where a string or object continues.
        if case .unexpectedEnd = error.kind, range.upperBound < buffer.count {
            let isNumber = buffer[range.lowerBound] == UInt8(ascii: "-")
            error =
                isNumber
                ? JSONError(.invalidNumber, at: 0)
                : JSONError(.unexpectedByte(buffer[range.upperBound]), at: range.count)
        }
        let inner = JSONPlace.path(in: buffer[range], upTo: error.offset)
        let path = child.role == .child && expected == .value ? child.path.appending(inner) : self.path
        throw JSONPieceError(error: JSONError(error.kind, at: offset + error.offset), path: path)
    }

    // MARK: Errors

    /// The innermost open object, or the place itself.
    private var path: Path { open.last?.path ?? place }

    private func failure(_ kind: JSONError.Kind, at offset: Int? = nil) -> JSONPieceError {
        let isInValue = child.role == .child && expected == .value
        return JSONPieceError(
            error: JSONError(kind, at: offset ?? self.offset), path: isInValue ? child.path : path)
    }

    private var unexpectedByte: JSONPieceError { failure(.unexpectedByte(buffer[position])) }

    private var tooDeep: JSONPieceError { failure(.tooDeep(limit: Path.maximumDepth)) }
}

extension CanonicalJSON {
    /// A leaf with a priority, if there is one.
    fileprivate func with(_ priority: CanonicalJSON?) -> CanonicalJSON {
        priority.flatMap { settingPriority($0, at: .root) } ?? self
    }
}
