import HearthJSONTree

/// The large values that a turn has read, for its other requests that read the same: these share the bytes, and cost no
/// further look at the rows. A value is good until the next change.
struct TurnReads {
    /// Reading fewer bytes again costs less than keeping them.
    private static let bytesMin = 16 << 10

    private struct Place: Hashable {
        let path: Path
        let query: Query?
        /// The page that answers a query with conditions, not its selection.
        let isPage: Bool
    }

    private var values: [Place: CanonicalJSON] = [:]
    private var sequence: UInt64 = 0

    /// A value as of a sequence number.
    func value(at path: Path, _ query: Query? = nil, isPage: Bool = false, as sequence: UInt64) -> CanonicalJSON? {
        if values.isEmpty || sequence != self.sequence { return nil }
        return values[Place(path: path, query: query, isPage: isPage)]
    }

    mutating func keep(
        _ value: CanonicalJSON, at path: Path, _ query: Query? = nil, isPage: Bool = false, as sequence: UInt64
    ) {
        if value.bytes.count < Self.bytesMin { return }
        if sequence != self.sequence { values = [:] }
        self.sequence = sequence
        values[Place(path: path, query: query, isPage: isPage)] = value
    }
}
