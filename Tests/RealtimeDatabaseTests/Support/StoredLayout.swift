import HearthJSONTree
import HearthRealtimeDatabase

/// Checks how a tree lies in rows.
struct StoredLayout {
    private(set) var problem: String?

    /// - parameter maySpread: rows that could be one may have stayed several, because they could not be read.
    init(_ rows: [Row], _ packing: RowPacking, maySpread: Bool = false) {
        for (row, next) in zip(rows, rows.dropFirst()) where !row.key.lexicographicallyPrecedes(next.key) {
            problem = "rows are out of order"
        }
        for (index, row) in rows.enumerated() {
            let path = Path(encoded: row.key)
            let next = index + 1 < rows.count ? rows[index + 1] : nil
            let hasRowsBelow = next.map { path.contains(Path(encoded: $0.key)) } ?? false
            switch row.value {
            case .subtree(let json):
                if hasRowsBelow { problem = "a row lies inside the row at \(path)" }
                if json.isNull { problem = "an empty row at \(path)" }
                if !packing.fits(json) { problem = "a row of \(json.bytes.count) bytes at \(path)" }
            case .header(let priority):
                if !hasRowsBelow { problem = "a header without rows below at \(path)" }
                if priority.isNull || !priority.isPriority { problem = "a header of \(priority) at \(path)" }
            }
        }
        if maySpread { return }
        for path in Self.spreadPlaces(rows) where problem == nil {
            var joiner = RowJoiner(base: path.encoded.count)
            for row in rows where path.contains(Path(encoded: row.key)) {
                joiner.append(key: row.key, value: row.value)
            }
            let value = joiner.finish()
            if value.bytes.count <= packing.repackBytesMax { problem = "\(value) is spread at \(path)" }
        }
    }

    /// Places whose children have rows of their own.
    private static func spreadPlaces(_ rows: [Row]) -> Set<Path> {
        var places: Set<Path> = []
        for row in rows {
            var place = Path(encoded: row.key).parent
            while let path = place, places.insert(path).inserted { place = path.parent }
        }
        return places
    }
}
