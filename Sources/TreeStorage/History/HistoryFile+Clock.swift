import HearthSQLite
import HearthStorageErrors

/// The clock by which changes grow older goes on from one process to the next.
extension HistoryFile {
    /// Milliseconds after which it is written again.
    private static let clockInterval: Int64 = 600_000

    func observe(wall: Int64, uptime: Int64) throws(StorageError) -> HistoryClock {
        var observed: HistoryClock
        if let clock {
            observed = clock
        } else {
            observed = HistoryClock(last: try readClock(), wall: wall, uptime: uptime)
        }
        let hasJumped = observed.advance(wall: wall, uptime: uptime)
        clock = observed
        if hasJumped || storedClock.map({ observed.state.wall - $0.wall >= Self.clockInterval }) ?? true {
            try write(observed.state)
        }
        return observed
    }

    /// Files of earlier versions have none: then the time since the last change may be a jump.
    private func readClock() throws(StorageError) -> HistoryClock.State? {
        func value(_ name: String) throws(StorageError) -> Int64? {
            try connection.prepare("SELECT value FROM meta WHERE name = '\(name)'").firstInteger()
        }
        if let wall = try value("wall"), let lead = try value("lead"), let steady = try value("steady") {
            return HistoryClock.State(wall: wall, lead: lead, steady: steady)
        }
        let last = try connection.prepare("SELECT time FROM moment ORDER BY sequence DESC LIMIT 1").firstInteger()
        return last.map { HistoryClock.State(wall: $0, lead: 0, steady: 0) }
    }

    private func write(_ state: HistoryClock.State) throws(StorageError) {
        let insert = try connection.prepare(
            "INSERT OR REPLACE INTO meta VALUES ('wall', ?), ('lead', ?), ('steady', ?)")
        insert.bind(1, state.wall)
        insert.bind(2, state.lead)
        insert.bind(3, state.steady)
        try insert.run()
        storedClock = state
    }
}
