package import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
package import HearthStorageErrors

extension HistoryFile {
    /// Removes everything at and below a place from the history, as if nothing had ever been there. Answers how many
    /// changes were removed or cut. When it returns, the files do not have the bytes any more. It can be repeated after
    /// a crash.
    @discardableResult
    package func erase(_ path: Path) throws(StorageError) -> Int {
        var count: Int64 = 0
        for place in places where place.kept.concerns(path) {
            try connection.transaction { () throws(StorageError) in
                let delete = try connection.prepare(
                    "DELETE FROM change WHERE place = ?1 AND path >= ?2 AND path < ?3")
                delete.bind(1, place.id)
                delete.bind(2, path.encoded)
                delete.bind(3, path.subtreeEnd)
                try delete.run()
                count += try connection.integer("SELECT changes()") ?? 0
                for segment in path.segments { count += try cut(path, at: segment.lowerBound, of: place) }
            }
        }
        // Of those who changed nothing else, nothing is told.
        try connection.execute(
            "UPDATE moment SET uid = x'' WHERE sequence NOT IN (SELECT sequence FROM change)")
        for place in places where place.kept.concerns(path) { try removePast(at: path, of: place) }
        try tidy()
        return Int(count)
    }

    /// Takes the part for a place out of the changes of an ancestor, whose path has so many bytes.
    private func cut(_ path: Path, at bytes: Int, of place: Place) throws(StorageError) -> Int64 {
        let suffix = path.dropFirst(bytes: bytes)
        let select = try connection.prepare(
            "SELECT sequence, part, value FROM change WHERE place = ?1 AND path = ?2 AND kind IN (0, 2)")
        select.bind(1, place.id)
        select.bind(2, Array(path.encoded[..<bytes]))
        var found: [(sequence: Int64, part: Int64)] = []
        while try select.step() {
            if CanonicalJSON(trusted: select.blob(2)).hasValue(at: suffix) {
                found.append((select.integer(0), select.integer(1)))
            }
        }
        select.reset()
        let key = "WHERE place = ?1 AND path = ?2 AND sequence = ?3 AND part = ?4"
        let read = try connection.prepare("SELECT value FROM change \(key)")
        let update = try connection.prepare("UPDATE change SET value = ?5 \(key)")
        for row in found {
            for statement in [read, update] {
                statement.bind(1, place.id)
                statement.bind(2, Array(path.encoded[..<bytes]))
                statement.bind(3, row.sequence)
                statement.bind(4, row.part)
            }
            guard try read.step() else { continue }
            let value = CanonicalJSON(trusted: read.blob(0))
            read.reset()
            update.bind(5, value.setting(.null, at: suffix).bytes)
            try update.run()
        }
        return Int64(found.count)
    }
}
