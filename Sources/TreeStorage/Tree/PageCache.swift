import Synchronization

/// Memory for pages of tree files that were read lately. The databases that are open have equal shares of it.
package final class PageCache: Sendable {
    package static let bytesMaxDefault = 64 << 20
    /// SQLite needs some pages for each query.
    private static let shareMin = 256 << 10

    package let bytesMax: Int
    private let readerCount = Atomic<Int>(0)

    package init(bytesMax: Int = PageCache.bytesMaxDefault) { self.bytesMax = bytesMax }

    /// Bytes that one reader may use now.
    var share: Int { max(bytesMax / max(readerCount.load(ordering: .relaxed), 1), Self.shareMin) }

    func join() { readerCount.add(1, ordering: .relaxed) }

    func leave() { readerCount.subtract(1, ordering: .relaxed) }
}
