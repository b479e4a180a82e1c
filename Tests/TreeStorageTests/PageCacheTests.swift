import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("The cache of pages") struct PageCacheTests {
    @Test("is shared by the readers that there are, except snapshots")
    func shares() throws {
        let pages = PageCache(bytesMax: 64 << 20)
        let folder = TemporaryFolder()
        let files = try (0..<4).map {
            try TreeFile(path: "\(folder.path)/\($0).tree", durability: .process, pages: pages)
        }
        let first = try files[0].makeReader()
        #expect(pages.share == 64 << 20)
        #expect(try first.pageBytesMax() == 64 << 20)
        do {
            let others = try files[1...].map { try $0.makeReader() }
            let snapshot = try files[0].makeSnapshot()
            #expect(pages.share == 16 << 20)
            #expect(try others.last?.pageBytesMax() == 16 << 20)
            first.beginReads()
            _ = try first.rows(from: [], below: [0xFF], .ascending)
            first.endReads()
            #expect(try first.pageBytesMax() == 16 << 20)
            _ = snapshot
        }
        #expect(pages.share == 64 << 20)
    }

    @Test("leaves each reader some pages")
    func least() {
        let pages = PageCache(bytesMax: 1 << 20)
        for _ in 0..<1000 { pages.join() }
        #expect(pages.share == 256 << 10)
    }
}
