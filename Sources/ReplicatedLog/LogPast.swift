/// The histories that a log has had, or that a node's files have: the value of `/hearth/1/db/NAME/past` and of
/// `/hearth/1/files/NAME/NODE`.
///
/// ```
/// past = version:1 (epoch:8 end:8)…                      the oldest first
/// ```
/// Files of one of these histories that end no later than `end` are a beginning of the log. What comes later in that
/// history is not in it. After a restore no beginning counts, so all ends are 0.
package struct LogPast: Hashable, Sendable {
    package struct Epoch: Hashable, Sendable {
        package var name: UInt64
        /// The last operation of this history that the log has.
        package var end: UInt64

        package init(name: UInt64, end: UInt64) {
            self.name = name
            self.end = end
        }
    }

    package private(set) var epochs: [Epoch]

    /// Of more, the newest ones are kept.
    package static let epochsMax = 64
    private static let version: UInt8 = 1

    package init(_ epochs: [Epoch] = []) { self.epochs = epochs.suffix(Self.epochsMax) }

    package var bytes: [UInt8] {
        var fields = FieldWriter()
        fields.add(Self.version)
        for epoch in epochs {
            fields.add(epoch.name)
            fields.add(epoch.end)
        }
        return fields.bytes
    }

    /// What a node states that has no files of a log that others miss. No history has this name.
    package static let none = LogPast([Epoch(name: 0, end: 0)])

    /// Nil if the bytes are not of a version that is known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard fields.read() == Self.version else { return nil }
        var epochs: [Epoch] = []
        while !fields.isAtEnd {
            guard let name = fields.read(UInt64.self), let end = fields.read(UInt64.self) else { return nil }
            epochs.append(Epoch(name: name, end: end))
        }
        self.init(epochs)
    }

    /// The past of a log whose history ends, and of which the next one continues nothing.
    func replaced(ending epoch: UInt64) -> LogPast {
        LogPast((epochs.map(\.name).filter { $0 != epoch } + [epoch]).map { Epoch(name: $0, end: 0) })
    }

    /// The same, with further histories that other files have, of which the log continues nothing.
    func givingUp(_ others: [LogPast]) -> LogPast {
        var names = Set(epochs.map(\.name))
        let more = others.flatMap(\.epochs).filter { names.insert($0.name).inserted }
        return LogPast(more.map { Epoch(name: $0.name, end: 0) } + epochs)
    }

    /// The last operation of a history that the log has; nil if the log never had this history.
    func end(of epoch: UInt64) -> UInt64? { epochs.last { $0.name == epoch }?.end }
}
