/// The body of a request while it comes in. Memory is claimed for what has come, and grows at most twofold beyond it,
/// whatever length was announced.
struct IncomingBody {
    enum Outcome {
        case taken
        /// It is larger than it may be.
        case tooLarge
        /// All requests together would be too much.
        case noRoom
    }

    private(set) var bytes: [UInt8] = []
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
        if count > bytes.capacity {
            let capacity = min(length ?? bytesMax, max(2 * count, RequestMemory.bytesMin))
            guard reserve(max(capacity, count), memory, for: client) else { return .noRoom }
        }
        bytes.append(contentsOf: piece)
        return .taken
    }

    private mutating func reserve(_ capacity: Int, _ memory: RequestMemory, for client: Client) -> Bool {
        if capacity >= RequestMemory.partBytesMin {
            if let claim {
                guard claim.resize(to: capacity) else { return false }
            } else {
                claim = memory.claim(capacity, for: client)
                guard claim != nil else { return false }
            }
        }
        bytes.reserveCapacity(capacity)
        return true
    }
}
