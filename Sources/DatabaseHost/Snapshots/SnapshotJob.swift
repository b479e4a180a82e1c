import HearthDelivery
import HearthJSONTree
import HearthTreeText
import HearthRealtimeDatabase
import HearthTreeStorage
import HearthStorageErrors

/// One large read on a reading thread: sends the value in the form that its connection wants, as fast as the peer takes
/// it.
struct SnapshotJob: Sendable {
    let stream: SnapshotStream
    let snapshot: TreeReader
    /// Kept as long as the snapshot.
    let place: OpenSnapshots.Place
    /// Of a value of the past.
    let placeOfCopy: PastCopyPlaces.Place?

    private var path: Path { stream.read.path }

    /// Works until everything is sent. False if the read was abandoned or the client does not read.
    ///
    /// - parameter send: hands a piece to the connection.
    func run(send: (SnapshotStream.Piece) -> Void) throws(StorageError) -> Bool {
        let isWanted: Bool
        switch stream.waitForForm() {
        case nil: return false
        case .message(let head, let tail):
            if try isKnown() {
                isWanted = true
                break
            }
            isWanted = try sendMessage(MessageCutter(head: head, tail: tail), send)
        case .text(let form):
            isWanted = try sendText(form, TextPieces(stream: stream, isPretty: form.isPretty), send)
        }
        if isWanted { send(.end) }
        return isWanted
    }

    // MARK: Messages

    /// Whether the client has the value already, as its hash says.
    private func isKnown() throws(StorageError) -> Bool {
        // The value read here exists.
        guard case .listen(let known?) = stream.read.purpose, !known.isEmpty else { return false }
        let standard = try makeHash()
        if standard.finish() == known { return true }
        for variant in standard.wrongVariants where try makeHash(variant).finish() == known { return true }
        return false
    }

    private func sendMessage(
        _ cutter: MessageCutter, _ send: (SnapshotStream.Piece) -> Void
    ) throws(StorageError) -> Bool {
        var cutter = cutter
        // The number of chunks comes first on the wire, so the rows are read twice.
        try forEachCanonicalText { text in
            cutter.measure(text)
            return true
        }
        let isWanted = try forEachCanonicalText { text in
            guard let part = cutter.cut(text) else { return true }
            send(.message(part))
            return stream.waitForGrant(after: part.text.count)
        }
        guard isWanted else { return false }
        send(.message(cutter.finish()))
        return true
    }

    // MARK: Text

    private func sendText(
        _ form: SnapshotText, _ pieces: TextPieces, _ send: (SnapshotStream.Piece) -> Void
    ) throws(StorageError) -> Bool {
        var pieces = pieces
        let hash = form.wantsHash ? try makeHash().finish() : nil
        let areArrays = form.content == .plain ? try findArrays() : []
        send(.started(hash: hash))
        if form.content == .nothing { return true }
        pieces.append(verbatim: form.head)
        let isWanted =
            switch form.content {
            case .export: try forEachCanonicalText { pieces.append($0, send) }
            case .plain: try forEachPlainText(areArrays) { pieces.append($0, send) }
            case .shallow(let range): try forEachShallowText(range) { pieces.append($0, send) }
            case .priority: pieces.append(try readPriority().bytes, send)
            case .nothing: true
            }
        guard isWanted else { return false }
        pieces.finish(tail: form.tail, send)
        return true
    }

    private func makeHash(_ variant: NodeHash.Variant = .standard) throws(StorageError) -> NodeHashBuilder {
        var walk = RowWalk(base: path.encoded.count, NodeHashBuilder(variant: variant))
        try forEachRow { row in
            walk.append(row)
            return true
        }
        walk.close()
        return walk.visitor
    }

    private func findArrays() throws(StorageError) -> [Bool] {
        var walk = RowWalk(base: path.encoded.count, ArrayFinder())
        try forEachRow { row in
            walk.append(row)
            return true
        }
        walk.close()
        return walk.visitor.areArrays
    }

    private func readPriority() throws(StorageError) -> CanonicalJSON {
        let row = try snapshot.rows(from: path.encoded, below: path.subtreeEnd).next()
        guard let row, row.key.count == path.encoded.count else { return .null }
        return switch row.value {
        case .header(let priority): priority
        case .subtree(let value): value.priority
        }
    }

    // MARK: Rows

    @discardableResult
    private func forEachRow(_ body: (Row) -> Bool) throws(StorageError) -> Bool {
        let cursor = try snapshot.rows(from: path.encoded, below: path.subtreeEnd)
        var unexpired = stream.read.expired.map { UnexpiredRows($0, of: snapshot) }
        while let row = try cursor.next() {
            for row in try unexpired?.visible(row) ?? [row] where !body(row) { return false }
        }
        return true
    }

    /// The canonical text of the value, piece by piece, until `body` answers false.
    @discardableResult
    private func forEachCanonicalText(_ body: ([UInt8]) -> Bool) throws(StorageError) -> Bool {
        var joiner = RowJoiner(base: path.encoded.count)
        let isWanted = try forEachRow { row in
            joiner.append(key: row.key, value: row.value)
            return joiner.count < SnapshotStream.pieceBytes || body(joiner.takeText())
        }
        guard isWanted else { return false }
        joiner.close()
        return body(joiner.takeText())
    }

    private func forEachPlainText(_ areArrays: [Bool], _ body: ([UInt8]) -> Bool) throws(StorageError) -> Bool {
        var walk = RowWalk(base: path.encoded.count, PlainText(areArrays: areArrays))
        var isEmpty = true
        let isWanted = try forEachRow { row in
            isEmpty = false
            walk.append(row)
            return walk.visitor.byteCount < SnapshotStream.pieceBytes || body(walk.visitor.takeText())
        }
        guard isWanted else { return false }
        walk.close()
        return body(isEmpty ? Array("null".utf8) : walk.visitor.takeText())
    }

    /// Keys only: values are not read, and rows below a child that is spread over several are passed over.
    private func forEachShallowText(
        _ range: ShallowRange, _ body: ([UInt8]) -> Bool
    ) throws(StorageError) -> Bool {
        let base = path.encoded.count
        var keys = ShallowText()
        let start = range.after.map { path.appending($0).subtreeEnd } ?? path.encoded
        let cursor = try snapshot.rows(from: start, below: path.subtreeEnd)
        var last: ArraySlice<UInt8> = []
        var unexpired = stream.read.expired.map { UnexpiredRows($0, of: snapshot) }
        while keys.count != range.limit, let row = try cursor.nextKey() {
            // The row of the node itself holds its priority.
            if row.count == base { continue }
            let end = row.withUnsafeBytes { Path.segmentEnd(in: $0, from: base) }
            if row[base..<end] == last {
                try cursor.seek(to: Path.subtreeEnd(of: Array(row[..<end])))
                continue
            }
            last = row[base..<end]
            if try unexpired?.isVisible(Path(encoded: Array(row[..<end]))) == false { continue }
            var text: [UInt8] = []
            last.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &text) }
            keys.append(keyText: text)
            if keys.byteCount >= SnapshotStream.pieceBytes, !body(keys.takeText()) { return false }
        }
        return body(keys.finish())
    }
}

/// Gathers text, lays it out, and sends it in pieces.
private struct TextPieces {
    let stream: SnapshotStream
    private var layout: JSONLayout?
    private var ready: [UInt8] = []

    init(stream: SnapshotStream, isPretty: Bool) {
        self.stream = stream
        layout = isPretty ? JSONLayout(isPretty: true) : nil
    }

    mutating func append(verbatim text: [UInt8]) { ready += text }

    /// False when no more is wanted.
    mutating func append(_ text: [UInt8], _ send: (SnapshotStream.Piece) -> Void) -> Bool {
        if layout == nil { ready += text } else { layout?.append(text, to: &ready) }
        guard ready.count >= SnapshotStream.pieceBytes else { return true }
        let piece = ready
        ready = []
        send(.bytes(piece))
        return stream.waitForGrant(after: piece.count)
    }

    mutating func finish(tail: [UInt8], _ send: (SnapshotStream.Piece) -> Void) {
        layout?.finish(&ready)
        send(.bytes(ready + tail))
    }
}
