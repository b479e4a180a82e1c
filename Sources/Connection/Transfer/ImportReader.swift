package import HearthJSONPieces
package import HearthJSONTree
package import HearthClientSession

/// Why an import stopped.
package enum ImportFailure: Error, Sendable {
    case text(JSONPieceError)
    case tooLarge(ImportBatches.TooLarge)
    case connection(ConnectionError)
}

/// Makes writes of a JSON text as it comes: ``JSONPieces`` in ``ImportBatches``. Used alone, it checks a text. Pure.
package struct ImportReader {
    private var pieces: JSONPieces
    private var batches: ImportBatches
    private var ready: [(write: ImportBatches.Write, offset: Int)] = []
    /// After the last piece.
    private var pieceEnd = 0
    private var isOver = false

    /// - parameter merges: see ``JSONPieces``.
    package init(base: Path, merges: Bool) {
        pieces = JSONPieces(at: base, merges: merges)
        batches = ImportBatches(base: base)
    }

    /// Bytes of the text that were read.
    package var offset: Int { pieces.offset }

    /// Adds the next bytes. To be called when ``next()`` has nothing.
    package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { pieces.append($0) } }

    /// There are no more bytes.
    package mutating func finish() { pieces.finish() }

    /// The next write, and the bytes of the text that are written with it; nil if more text is needed, or nothing is
    /// left.
    package mutating func next() throws(ImportFailure) -> (write: ImportBatches.Write, offset: Int)? {
        while ready.isEmpty {
            if isOver { return nil }
            let step: JSONPieces.Step
            do throws(JSONPieceError) { step = try pieces.next() } catch { throw .text(error) }
            switch step {
            case .needsMore: return nil
            case .end:
                isOver = true
                if let write = batches.finish() { ready.append((write, pieces.offset)) }
            case .piece(let piece):
                let writes: [ImportBatches.Write]
                do throws(ImportBatches.TooLarge) { writes = try batches.add(piece) } catch { throw .tooLarge(error) }
                let end = pieces.offset
                for write in writes {
                    // The new piece itself is still to come, unless it is alone.
                    if case .set = write { ready.append((write, end)) } else { ready.append((write, pieceEnd)) }
                }
                pieceEnd = end
            }
        }
        return ready.removeFirst()
    }
}
