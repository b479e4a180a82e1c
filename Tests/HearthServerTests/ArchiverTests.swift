import Glibc
import HearthServer
import HearthServerLog
import HearthSystem
import HearthTestSupport
import HearthTreeStorage
import Testing

@testable import HearthBackups

@Suite("The archiver")
struct ArchiverTests {
    private let folder = TemporaryFolder()
    private var data: String { folder.path + "/data" }
    private var archive: String { folder.path + "/archive" }
    private let log = Log(level: .info, descriptor: -1)

    /// Of a data folder with a database and rules, and of a server that has stopped.
    private func makeArchiver() throws -> Archiver {
        do {
            let server = try RealtimeTestServer { $0.dataFolder = data }
            let rest = try server.connectREST()
            try rest.ask("PUT", "/a.json?ns=example", RESTClient.owner, "1")
            try rest.ask("PUT", "/.settings/rules.json?ns=example", RESTClient.owner, #"{"rules":{".read":true}}"#)
        }
        let archiver = Archiver(ArchiveConfiguration(folder: archive), folder: data, log: log)
        try archiver.makeFolder()
        return archiver
    }

    private func count(_ event: String) -> Int { log.recentLines.filter { $0.contains(" \(event) ") }.count }

    /// So that a later success has another time.
    private func nextMillisecond() async throws {
        let time = WallClock.milliseconds
        try await eventually("the next millisecond") { WallClock.milliseconds > time }
    }

    @Test("fails while the archive is gone or another one is in its place, and goes on when it is back")
    func goneFolder() async throws {
        let archiver = try makeArchiver()
        var archives = archiver.makeArchives()
        archiver.advance(&archives)
        let databases = archiver.figures.keys.sorted()
        #expect(databases.contains("example"))
        let names = databases.count + 1
        func successes() -> [Int64?] {
            databases.map { archiver.figures[$0]?.lastSuccess } + [archiver.accountsFigures.lastSuccess]
        }
        func failures() -> [Int64] {
            databases.map { archiver.figures[$0]?.failures ?? -1 } + [archiver.accountsFigures.failures]
        }
        let before = successes()
        #expect(!before.contains(nil))
        #expect(failures().allSatisfy { $0 == 0 })

        #expect(rename(archive, archive + "-gone") == 0)
        try await nextMillisecond()
        for _ in 0..<2 { archiver.advance(&archives) }
        #expect(access(archive, F_OK) != 0)
        #expect(successes() == before)
        #expect(failures().allSatisfy { $0 == 2 })
        // Each is told once.
        #expect(count("archive.failed") == names)

        // As where the disk was mounted.
        #expect(mkdir(archive, 0o700) == 0)
        archiver.advance(&archives)
        #expect(TemporaryFolder.files(in: archive).isEmpty)
        #expect(successes() == before)
        #expect(failures().allSatisfy { $0 == 3 })
        #expect(count("archive.failed") == 2 * names)

        rmdir(archive)
        #expect(rename(archive + "-gone", archive) == 0)
        archiver.advance(&archives)
        #expect(zip(successes(), before).allSatisfy { $0 ?? 0 > $1 ?? 0 })
        #expect(failures().allSatisfy { $0 == 3 })
        #expect(count("archive.available") == names)
        #expect(ArchiveFolder(archive, database: "example").chains.count == 1)
        #expect(count("archive.gap") == 0)
    }

    @Test("counts and tells of a gap where the archive of a database is gone, and makes copies again")
    func goneParts() async throws {
        let archiver = try makeArchiver()
        var archives = archiver.makeArchives()
        archiver.advance(&archives)
        #expect(archiver.figures["example"]?.gaps == 0)
        for part in ["example", ".accounts"] {
            #expect(rename("\(archive)/\(part)", "\(folder.path)/\(part)") == 0)
        }
        try await nextMillisecond()
        archiver.advance(&archives, isLast: true)
        #expect(archiver.figures["example"]?.gaps == 1)
        #expect(archiver.figures["example"]?.failures == 0)
        #expect(count("archive.gap") == 1)
        #expect(ArchiveFolder(archive, database: "example").chains.count == 1)
        #expect(AccountsArchive.copies(in: archive).count == 1)
        archiver.advance(&archives)
        #expect(archiver.figures["example"]?.gaps == 1)
    }
}
