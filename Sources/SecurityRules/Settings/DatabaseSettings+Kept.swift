package import HearthJSONTree

extension DatabaseSettings {
    /// The first place at or below a total that the server keeps.
    package func keptPath(amongTargetsOf assignments: [Assignment]) -> Path? {
        if counters.isEmpty { return nil }
        return assignments.first { written in counters.contains { $0.keeps(written.target.path) } }?.target.path
    }

    package static func refusalText(ofKept path: Path) -> String {
        "The server keeps the value at \"\(path)\": it cannot be written"
    }

    /// The first place in the state of a queue that a write sets: only the server and administrators may do so.
    package func statePath(setBy assignments: [Assignment]) -> Path? {
        if queues.isEmpty { return nil }
        return assignments.lazy.compactMap { assignment in
            queues.lazy.compactMap { $0.state(writtenBy: assignment) }.first
        }.first
    }

    package static func refusalText(ofState path: Path) -> String {
        "The server keeps the state of jobs at \"\(path)\": it cannot be written"
    }
}
