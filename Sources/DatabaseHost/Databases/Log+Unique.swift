import HearthJSONTree
import HearthTreeQueries
import HearthRealtimeDatabase
import HearthServerLog

extension Log {
    /// Names the children that share values which the settings want unique.
    func warn(of unique: [UniqueStatus], in database: String) {
        for status in unique where status.state == .conflicts {
            let pairs = status.duplicates.prefix(5).map { "\($0.collection): \($0.first) and \($0.second)" }
            warning(
                "unique.conflicts",
                [
                    ("database", database), ("path", "/\(status.pattern)"), ("child", status.index.description),
                    ("count", "\(status.duplicateCount)"), ("first", pairs.joined(separator: ", ")),
                ])
        }
    }
}
