import HearthSQLite
import HearthStorageErrors

/// The clock by which changes grow older goes on from one process to the next.
extension HistoryFile {
    /// Milliseconds after which it is written again.
    private static let clockInterval: Int64 = 600_000

    /// - parameter before: the last operation that had been read from the log when the clocks were last looked at.
    /// - parameter keepMax: for how long changes are kept.
    func observe(
        wall: Int64, uptime: Int64, before: UInt64, keepMax: Int64
    ) throws(StorageError) -> HistoryClock {
        var observed: HistoryClock
        if let clock {
            observed = clock
        } else {
            let newest = try connection.prepare(
                "SELECT time FROM moment WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1")
            newest.bind(1, Int64(before))
            observed = HistoryClock(
                last: try readClock(), newest: try newest.firstInteger(), wall: wall, uptime: uptime)
        }
        let hasMark = observed.advance(
            wall: wall, uptime: uptime, before: min(before, sequence), last: sequence, keepMax: keepMax)
        clock = observed
        if hasMark || storedClock.map({ observed.state.running - $0.running >= Self.clockInterval }) ?? true {
            try write(observed.state)
        }
        return observed
    }

    /// Files of earlier versions have none.
    private func readClock() throws(StorageError) -> HistoryClock.State? {
        let select = try connection.prepare("SELECT value FROM meta WHERE name = 'clock'")
        guard try select.step() else { return nil }
        return HistoryClock.State(select.blob(0))
    }

    private func write(_ state: HistoryClock.State) throws(StorageError) {
        let insert = try connection.prepare("INSERT OR REPLACE INTO meta VALUES ('clock', ?)")
        insert.bind(1, state.bytes)
        try insert.run()
        storedClock = state
    }
}

extension HistoryClock.State {
    /// The numbers of the state and of its marks, each in eight bytes, the lowest first.
    fileprivate var bytes: [UInt8] {
        let marks = marks.flatMap { [$0.running, $0.wall, Int64($0.before), Int64($0.last)] }
        return ([wall, running] + marks).flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
    }

    /// Nil if it has another form, or numbers that no clock shows.
    fileprivate init?(_ bytes: [UInt8]) {
        guard bytes.count >= 16, bytes.count % 32 == 16 else { return nil }
        let numbers = stride(from: 0, to: bytes.count, by: 8).map { start in
            (0..<8).reduce(0) { $0 | Int64(bytes[start + $1]) << (8 * $1) }
        }
        guard numbers.allSatisfy(HistoryClock.isPossible) else { return nil }
        let marks = stride(from: 2, to: numbers.count, by: 4).map { start in
            HistoryClock.Mark(
                running: numbers[start], wall: numbers[start + 1], before: UInt64(clamping: numbers[start + 2]),
                last: UInt64(clamping: numbers[start + 3]))
        }
        self.init(wall: numbers[0], running: numbers[1], marks: marks)
    }
}
