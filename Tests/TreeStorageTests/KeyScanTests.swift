import HearthSQLite
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("A scan for keys")
struct KeyScanTests {
    private let folder = TemporaryFolder()

    @Test("tells which keys a table has, and which have longer ones", arguments: 0..<60 as Range<UInt64>)
    func agreesWithDictionary(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let connection = try Connection(path: folder.path + "/t", mode: .readWrite)
        try connection.execute("CREATE TABLE t (key BLOB PRIMARY KEY, checksum INTEGER NOT NULL) WITHOUT ROWID")
        let insert = try connection.prepare("INSERT INTO t VALUES (?1, ?2)")
        var table: [[UInt8]: Int64] = [:]
        for _ in 0..<Int.random(in: 0..<400, using: &random) { table[key(&random)] = Int64(table.count) }
        for (key, checksum) in table {
            insert.bind(1, key)
            insert.bind(2, checksum)
            try insert.run()
        }
        let scan = try KeyScan("t", connection)
        // Many of them and few, so that keys are next to each other and far apart; some again after an end.
        for count in [300, 5, 40] {
            let asked = Set((0..<count).map { _ in Bool.random(using: &random) ? key(&random) : [0xFF] })
            for key in asked.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                #expect(try scan.checksum(of: key) == table[key], "seed \(seed)")
                guard Bool.random(using: &random) else { continue }
                let hasLonger = table.keys.contains { $0.count > key.count && $0.starts(with: key) }
                #expect(try scan.hasKeys(below: key) == hasLonger, "seed \(seed)")
            }
            scan.end()
        }
    }

    private func key(_ random: inout SeededRandom) -> [UInt8] {
        (0..<Int.random(in: 0..<6, using: &random)).map { _ in UInt8.random(in: 0...3, using: &random) }
    }

    @Test("sees what has changed since its end")
    func changes() throws {
        let connection = try Connection(path: folder.path + "/t", mode: .readWrite)
        try connection.execute(
            """
            CREATE TABLE t (key BLOB PRIMARY KEY, checksum INTEGER NOT NULL) WITHOUT ROWID;
            INSERT INTO t VALUES (x'01', 1), (x'03', 3)
            """)
        let scan = try KeyScan("t", connection)
        #expect(try scan.checksum(of: [1]) == 1)
        #expect(try scan.checksum(of: [2]) == nil)
        scan.end()
        try connection.execute("INSERT INTO t VALUES (x'02', 2); DELETE FROM t WHERE key = x'03'")
        #expect(try scan.checksum(of: [2]) == 2)
        #expect(try scan.checksum(of: [3]) == nil)
        scan.end()
    }
}
