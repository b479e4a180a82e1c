import HearthRealtimeDatabase
package import HearthReplicatedLog
package import HearthTreeStorage

extension LogPast {
    /// The histories of a node's own log, which was opened as one that is shared.
    package init(_ file: LogFile) {
        guard file.lastSequence > 0 else {
            self.init()
            return
        }
        let epochs = file.epochs.past + [file.epochs.current]
        let ends = epochs.dropFirst().map(\.start) + [file.lastSequence]
        self.init(zip(epochs, ends).map { Epoch(name: $0.name, end: $1) })
    }
}
