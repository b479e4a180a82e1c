import Synchronization
import HearthRealtimeSessions

/// The bytes of a body. A large one is kept in pieces while it comes in: to copy it whenever it has outgrown its memory
/// would stop everybody else on the loop.
struct BodyBytes: Sendable {
    /// The size of a piece: with the header of an array, one that the allocator returns as soon as it is free
    /// (``FreeMemory/keepLittle()``).
    static let pieceBytes = 2 << 20 - 32

    private var first: [UInt8] = []
    private var others: Pieces?
    private(set) var count = 0
    /// For how many bytes there is memory, or may be.
    private(set) var room = 0

    init() {}

    init(_ bytes: [UInt8]) {
        first = bytes
        (count, room) = (bytes.count, bytes.count)
    }

    /// The room of a body that has outgrown its room: twice as much as has come, and at most a piece more.
    static func room(for count: Int, of length: Int) -> Int {
        max(count, min(length, max(count + min(count, pieceBytes), RequestMemory.bytesMin)))
    }

    /// There may be `room` bytes in all.
    mutating func grow(to room: Int) {
        self.room = room
        first.reserveCapacity(min(room, Self.pieceBytes))
    }

    /// - precondition: there is room.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(count + bytes.count <= room, "a body has outgrown its room")
        let part = bytes.prefix(Self.pieceBytes - first.count)
        first.append(contentsOf: part)
        count += part.count
        guard part.count < bytes.count else { return }
        let others = others ?? Pieces()
        self.others = others
        others.append(bytes[part.endIndex...])
        count += bytes.count - part.count
    }

    /// The bytes in one piece; to be called once. Costs nothing for a body of one piece, and a copy for others, during
    /// which their pieces are given back one after the other.
    func take() -> [UInt8] {
        guard let others else { return first }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        bytes.append(contentsOf: first)
        others.move(to: &bytes)
        precondition(bytes.count == count, "a body was taken twice")
        return bytes
    }

    /// All pieces but the first. An object, so that copies of the body do not keep consumed pieces.
    private final class Pieces: Sendable {
        /// All but the last are full.
        private let pieces = Mutex<[[UInt8]]>([])

        func append(_ bytes: Slice<UnsafeRawBufferPointer>) {
            pieces.withLock { pieces in
                var rest = bytes
                while !rest.isEmpty {
                    if pieces.last.map({ $0.count == BodyBytes.pieceBytes }) ?? true {
                        pieces.append([])
                        // Addresses; the memory comes with the bytes.
                        pieces[pieces.count - 1].reserveCapacity(BodyBytes.pieceBytes)
                    }
                    let last = pieces.count - 1
                    let part = rest.prefix(BodyBytes.pieceBytes - pieces[last].count)
                    pieces[last].append(contentsOf: part)
                    rest = rest[part.endIndex...]
                }
            }
        }

        func move(to bytes: inout [UInt8]) {
            pieces.withLock { pieces in
                for index in pieces.indices {
                    bytes.append(contentsOf: pieces[index])
                    pieces[index] = []
                }
                pieces = []
            }
        }
    }
}
