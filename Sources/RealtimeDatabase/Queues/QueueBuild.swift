import HearthJSONTree
import HearthSecurityRules

/// Finding the jobs that were there before a setting.
struct QueueBuild {
    let queue: IndexCatalog.Queue
    var walk: CollectionWalk

    init(_ queue: IndexCatalog.Queue) {
        self.queue = queue
        walk = CollectionWalk(queue.definition.pattern.appending(QueueDefinition.jobs))
    }
}

extension IndexCatalog.Queue {
    private static var timeByteCount: Int { 8 }

    static func jobs(at place: Path) -> Path { place.appending(QueueDefinition.jobs) }

    static func state(at place: Path) -> Path { place.appending(QueueDefinition.state) }

    /// What the entries of a queue begin with that are due at a time or later. They are in the order of time, and those
    /// of one time in that of the keys.
    func prefix(_ time: Int64, at place: Path) -> [UInt8] {
        var key = IndexEntryKey.prefix(of: number, at: Self.jobs(at: place))
        let bits = UInt64(bitPattern: time)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            key.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        return key
    }

    func time(ofKey key: [UInt8], at place: Path) -> Int64 {
        let start = IndexEntryKey.prefix(of: number, at: Self.jobs(at: place)).count
        return Int64(bitPattern: key[start..<start + Self.timeByteCount].reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// That of the job's key.
    func segment(ofKey key: [UInt8], at place: Path) -> [UInt8] {
        let start = IndexEntryKey.prefix(of: number, at: Self.jobs(at: place)).count
        return Array(key[(start + Self.timeByteCount)...])
    }
}
