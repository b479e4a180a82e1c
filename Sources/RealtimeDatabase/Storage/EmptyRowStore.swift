package import HearthJSONTree

/// A store that holds nothing, for databases that have no files.
package final class EmptyRowStore: RowStore {
    private final class Cursor: RowCursor {
        func next() -> Row? { nil }
        func nextKey() -> [UInt8]? { nil }
        func seek(to bound: [UInt8]) {}
    }

    package init() {}

    package var clearing: Set<[UInt8]> { [] }

    package func rows(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) -> any RowCursor {
        Cursor()
    }

    package func entries(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) -> any RowCursor {
        Cursor()
    }

    package func owedWrites() -> [UInt64: OwedWrites] { [:] }

    package func indexCatalog() -> [UInt8]? { nil }
}
