/// Names one append, so that it can be found again after an unknown outcome. No two appends ever have the same.
package struct AppendID: Hashable, Sendable {
    /// The revision at which the owner's key was written: it differs between any two owners, and between two times of
    /// one.
    package var term: Int64
    /// Counts the appends of a term.
    package var number: UInt64

    package init(term: Int64, number: UInt64) {
        self.term = term
        self.number = number
    }
}

/// Where a log ends. Each append replaces it, on condition that it is as the owner left it: so no two appends can
/// have the same sequence numbers, and there are no gaps.
package struct LogHead: Hashable, Sendable {
    package var epoch: UInt64
    /// 0 for an empty log.
    package var lastSequence: UInt64
    /// That of the last record, in milliseconds since 1970.
    package var lastTime: Int64
    package var lastAppend: AppendID

    package init(epoch: UInt64, lastSequence: UInt64, lastTime: Int64, lastAppend: AppendID) {
        self.epoch = epoch
        self.lastSequence = lastSequence
        self.lastTime = lastTime
        self.lastAppend = lastAppend
    }

    private static let version: UInt8 = 1

    package var bytes: [UInt8] {
        var fields = FieldWriter()
        fields.add(Self.version)
        fields.add(epoch)
        fields.add(lastSequence)
        fields.add(lastTime)
        fields.add(lastAppend.term)
        fields.add(lastAppend.number)
        return fields.bytes
    }

    /// Nil if the bytes are not a head of a version that is known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard fields.read() == Self.version, let epoch = fields.read(UInt64.self),
            let lastSequence = fields.read(UInt64.self), let lastTime = fields.read(Int64.self),
            let term = fields.read(Int64.self), let number = fields.read(UInt64.self), fields.isAtEnd
        else { return nil }
        self.init(
            epoch: epoch, lastSequence: lastSequence, lastTime: lastTime,
            lastAppend: AppendID(term: term, number: number))
    }
}

/// The process that owns a log.
package struct OwnerRecord: Hashable, Sendable {
    package var node: String
    /// A random number of the process.
    package var incarnation: UInt64

    package init(node: String, incarnation: UInt64) {
        self.node = node
        self.incarnation = incarnation
    }

    package var bytes: [UInt8] {
        var fields = FieldWriter()
        fields.add(incarnation)
        fields.add(node.utf8)
        return fields.bytes
    }

    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard let incarnation = fields.read(UInt64.self),
            let node = String(validating: fields.readRest(), as: UTF8.self), !node.isEmpty
        else { return nil }
        self.init(node: node, incarnation: incarnation)
    }
}
