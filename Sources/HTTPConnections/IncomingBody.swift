import HearthRealtimeSessions

/// The body of a request while it arrives. Memory is claimed for the received bytes, and for at most as many again,
/// even if a greater length was announced.
struct IncomingBody {
    enum Outcome {
        case taken
        /// It is larger than it may be.
        case tooLarge
        /// All requests together would be too much.
        case noRoom
    }

    private(set) var bytes = BodyBytes()
    /// For the memory of the bytes, if they are many.
    private(set) var claim: MemoryClaim?
    /// The length that was announced, if any.
    private let length: Int?
    private let bytesMax: Int
    /// It is read and not kept: the request needs none.
    let isDropped: Bool

    init(length: Int? = nil, bytesMax: Int = .max, isDropped: Bool = false) {
        self.length = length
        self.bytesMax = bytesMax
        self.isDropped = isDropped
    }

    mutating func append(_ piece: UnsafeRawBufferPointer, _ memory: RequestMemory, for client: Client) -> Outcome {
        if isDropped { return .taken }
        let count = bytes.count + piece.count
        if count > bytesMax { return .tooLarge }
        if count > bytes.room {
            let room = BodyBytes.room(for: count, of: length ?? bytesMax)
            guard claim(room, memory, for: client) else { return .noRoom }
            bytes.grow(to: room)
        }
        bytes.append(piece)
        return .taken
    }

    private mutating func claim(_ room: Int, _ memory: RequestMemory, for client: Client) -> Bool {
        if room < RequestMemory.partBytesMin { return true }
        if let claim { return claim.resize(to: room) }
        claim = memory.claim(room, for: client)
        return claim != nil
    }
}
