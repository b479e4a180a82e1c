package import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

/// Writes a JSON text to a place over a connection as it comes, many writes in flight. Memory is bounded by those and a
/// piece of the text.
package struct Importer {
    /// Writes of about 1 MiB that may wait for their answers.
    private static let writesMax = 8

    private let connection: Connection
    private let base: Path
    private var reader: ImportReader
    private var inFlight: [(request: PendingRequest, offset: Int)] = []
    /// The old value of the place is removed before the first write.
    private var mustClear: Bool
    /// Whether anything was sent.
    package private(set) var hasBegun = false
    /// The text before this byte is written.
    package private(set) var writtenOffset = 0

    /// - parameter merges: see ``JSONPieces``. Otherwise the place is emptied, once there is something to write.
    package init(_ connection: Connection, base: Path, merges: Bool) {
        self.connection = connection
        self.base = base
        reader = ImportReader(base: base, merges: merges)
        mustClear = !merges
    }

    /// Takes the next bytes of the text, and returns when it is time for more.
    package mutating func append(_ bytes: [UInt8]) async throws(ImportFailure) {
        reader.append(bytes)
        try await write()
    }

    /// There are no more bytes: waits for everything to be written.
    package mutating func finish() async throws(ImportFailure) {
        reader.finish()
        try await write()
        try await drain()
    }

    /// Waits for the writes under way.
    package mutating func drain() async throws(ImportFailure) {
        while !inFlight.isEmpty { try await awaitFirst() }
    }

    private mutating func write() async throws(ImportFailure) {
        while let (write, offset) = try reader.next() {
            while inFlight.count >= Importer.writesMax { try await awaitFirst() }
            hasBegun = true
            if mustClear, !replacesAll(write) {
                let clear = WireAssignment(target: WriteTarget(path: base), value: .null)
                inFlight.append((connection.beginSet(clear), 0))
            }
            mustClear = false
            let request =
                switch write {
                case .set(let assignment): connection.beginSet(assignment)
                case .update(let assignments): connection.beginUpdate(base, assignments)
                }
            inFlight.append((request, offset))
        }
    }

    /// A small value replaces the old one directly.
    private func replacesAll(_ write: ImportBatches.Write) -> Bool {
        if case .set(let assignment) = write { assignment.target == WriteTarget(path: base) } else { false }
    }

    private mutating func awaitFirst() async throws(ImportFailure) {
        let (request, offset) = inFlight.removeFirst()
        do throws(ConnectionError) { try await request.wait() } catch { throw .connection(error) }
        writtenOffset = max(writtenOffset, offset)
    }
}
