import HearthBytes
package import HearthJSONTree
package import HearthStorageErrors

/// The position of a trigger's event in the outbox: first all that wait, then all that were set aside; of each trigger
/// in the order of their making.
package struct OutboxKey: Hashable, Sendable, Comparable {
    /// `aside:byte length:byte name sequence:8 index:4`, the numbers in big-endian order.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// - parameter sequence: that of the operation that puts the event there; `index` is its number in it.
    init(trigger: String, isAside: Bool, sequence: UInt64, index: Int) {
        var bytes = Self.prefix(of: trigger, isAside: isAside)
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: sequence >> shift)) }
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: index >> shift)) }
        self.bytes = bytes
    }

    /// What the keys of a trigger's events begin with.
    package static func prefix(of trigger: String, isAside: Bool) -> [UInt8] {
        [isAside ? 1 : 0, UInt8(trigger.utf8.count)] + trigger.utf8
    }

    package var isAside: Bool { bytes.first == 1 }

    /// The name of the trigger.
    package var trigger: String {
        guard bytes.count >= 2 else { return "" }
        return String(decoding: bytes.dropFirst(2).prefix(Int(bytes[1])), as: UTF8.self)
    }

    /// The number of the operation that has put it there.
    package var sequence: UInt64 { bytes.dropLast(4).suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// Its number in that operation.
    package var index: UInt32 { bytes.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } }

    /// Whether the bytes have the form of a key.
    package var isWhole: Bool { bytes.count >= 2 && bytes.count == 2 + Int(bytes[1]) + 12 }

    package static func < (a: OutboxKey, b: OutboxKey) -> Bool { a.bytes.precedesBytewise(b.bytes) }
}

package struct OutboxRow: Hashable, Sendable {
    package var key: OutboxKey
    /// ``TriggerEvent/stored``
    package var event: [UInt8]

    package init(key: OutboxKey, event: [UInt8]) {
        self.key = key
        self.event = event
    }

    /// Whether the event tells something of the value at a path, or below it.
    package func concerns(_ path: Path) throws(StorageError) -> Bool {
        let place = try TriggerEvent(stored: event).path
        return place.contains(path) || path.contains(place)
    }
}

/// One change of the outbox, an operation of the commit log.
package struct OutboxChange: Hashable, Sendable {
    package var removed: [OutboxKey]
    package var added: [OutboxRow]

    package init(removed: [OutboxKey] = [], added: [OutboxRow] = []) {
        self.removed = removed
        self.added = added
    }

    package var isEmpty: Bool { removed.isEmpty && added.isEmpty }
}

/// What became of events, as their sender says it.
package struct OutboxReport: Sendable {
    /// Delivered, or dropped.
    package var done: [OutboxKey] = []
    /// Not delivered: events that are set aside, and where they were.
    package var aside: [(key: OutboxKey, event: TriggerEvent)] = []
    /// Events that were set aside, and are to be sent again.
    package var again: [(key: OutboxKey, event: TriggerEvent)] = []

    package init() {}

    package var isEmpty: Bool { done.isEmpty && aside.isEmpty && again.isEmpty }
    package var count: Int { done.count + aside.count + again.count }

    package mutating func add(_ other: OutboxReport) {
        done += other.done
        aside += other.aside
        again += other.again
    }
}
