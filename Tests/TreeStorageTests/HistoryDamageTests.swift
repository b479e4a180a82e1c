import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSQLite
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

/// The rows of a history have no checksums: whatever they say is read, or an error.
@Suite("a damaged history")
struct HistoryDamageTests {
    private let folder = TemporaryFolder()
    private var path: String { HistoryFile.paths(of: "a", in: folder.path)[0] }
    private let kept = IndexPattern(text: "rooms").map { [HistoryDefinition(pattern: $0, keep: 500)] } ?? []

    /// A database with a history, from which something was folded and something erased.
    private func makeDatabase() throws -> DatabaseOnDisk {
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        let file = try HistoryFile("a", in: folder.path, durability: .memory)
        for number in 1...10 as ClosedRange<Int64> {
            disk.now = 100 * number
            let target = WriteTarget(path: number.isMultiple(of: 2) ? "rooms/a" : "rooms/b/c")
            try disk.commit(disk.process([[.set(target, IncomingValue(json: CanonicalJSON(integer: number)))]]))
            while try file.advance(kept, now: disk.now) {}
        }
        try file.erase("rooms/b", present: disk.database.rows)
        #expect(try file.connection.integer("SELECT count(*) FROM change") ?? 0 > 2)
        return disk
    }

    private func damage(_ sql: String) throws { try Connection(path: path, mode: .readWrite).execute(sql) }

    /// Does all that is done with a history. Answers how many of it failed.
    private func use(_ disk: DatabaseOnDisk) -> Int {
        var failures = 0
        func attempt(_ body: () throws -> Void) {
            do { try body() } catch { failures += 1 }
        }
        attempt {
            let file = try HistoryFile("a", in: folder.path, durability: .memory)
            attempt { _ = try file.commits(at: "rooms", before: nil, limit: 100) }
            attempt { _ = try file.erasures(at: .root, after: 0) }
            for path in ["rooms", "rooms/a", .root] as [Path] {
                for moment in [.sequence(.max), .sequence(8), .time(850)] as [HistoryFile.Moment] {
                    attempt {
                        let sequence = try file.sequence(at: moment, of: path)
                        attempt { _ = try file.value(at: path, after: sequence) }
                        attempt { _ = try file.copy(of: path, after: sequence).make() }
                    }
                }
            }
            attempt { for _ in 0..<3 where try !file.advance(kept, now: 1000) { break } }
            attempt { _ = try file.advance(kept, wall: 2000, uptime: 2000) }
            attempt { try file.erase("rooms/a", present: disk.database.rows) }
        }
        attempt { _ = try Backup.make(of: "a", in: folder.path, to: folder.path + "/copy") }
        return failures
    }

    @Test("has no failures without damage")
    func whole() throws { #expect(try use(makeDatabase()) == 0) }

    @Test(
        "whose numbers are impossible ends nothing but the questions",
        arguments: [
            "meta value sequence", "meta value first", "meta value fold", "place id", "place start", "place edge",
            "place folding", "change place", "change sequence", "change part", "change kind", "moment sequence",
            "moment time", "erased sequence",
        ], [-28, .min, .max] as [Int64])
    func numbers(column: String, number: Int64) throws {
        let disk = try makeDatabase()
        let words = column.split(separator: " ")
        let condition = words.count > 2 ? "WHERE name = '\(words[2])'" : ""
        try damage("UPDATE OR REPLACE \(words[0]) SET \(words[1]) = \(number) \(condition)")
        let failures = use(disk)
        // Without these, nothing is known.
        let isNeeded = ["meta value sequence", "place id", "place start", "place edge", "place folding"].contains(
            column)
        #expect(failures > 0 || !isNeeded)
        disk.now = 2000
        try disk.commit(disk.process([[.set(WriteTarget(path: "rooms/a"), IncomingValue(json: "7"))]]))
        #expect(try disk.value(at: "rooms/a") == "7")
    }

    @Test(
        "whose changes have other forms is not read",
        arguments: [
            "change SET path = CAST(path || x'30' AS BLOB)", "change SET path = x'30'", "change SET kind = 4",
            "change SET value = x'7b'", "change SET value = x''", "change SET value = x'222222'",
            "erased SET path = x'10'",
        ])
    func forms(change: String) throws {
        let disk = try makeDatabase()
        try damage("UPDATE OR REPLACE \(change)")
        #expect(use(disk) > 0)
    }

    @Test("has a clock that starts over where no clock shows its numbers", arguments: 0..<6)
    func clock(number: Int) throws {
        let disk = try makeDatabase()
        let length = try Connection(path: path, mode: .readOnly).integer(
            "SELECT length(value) FROM meta WHERE name = 'clock'")
        #expect(length ?? 0 >= 48)
        let clock =
            String(repeating: "00", count: 8 * number + 7) + "80" + String(repeating: "00", count: 40 - 8 * number)
        try damage("UPDATE meta SET value = x'\(clock)' WHERE name = 'clock'")
        #expect(use(disk) == 0)
    }

    @Test("has a clock that does not begin at an impossible time", arguments: [.min, -28, .max] as [Int64])
    func newest(time: Int64) throws {
        let disk = try makeDatabase()
        try damage("DELETE FROM meta WHERE name = 'clock'; UPDATE moment SET time = \(time)")
        let file = try HistoryFile("a", in: folder.path, durability: .memory)
        while try file.advance(kept, now: 1000) {}
        #expect(try file.value(at: "rooms/a", after: file.sequence) == disk.value(at: "rooms/a"))
    }
}
