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

        // Nor by a server that starts without the disk.
        let later = Archiver(ArchiveConfiguration(folder: archive), folder: data, log: log)
        try later.makeFolder()
        var laterArchives = later.makeArchives()
        later.advance(&laterArchives)
        #expect(TemporaryFolder.files(in: archive).isEmpty)
        #expect(later.figures["example"]?.failures == 1)
        // Nor to another archive.
        TemporaryFolder.write(Array("1\n".utf8), to: archive + "/archive.id")
        later.advance(&laterArchives)
        #expect(TemporaryFolder.files(in: archive) == ["archive.id"])
        #expect(later.figures["example"]?.failures == 2)

        unlink(archive + "/archive.id")
        rmdir(archive)
        #expect(rename(archive + "-gone", archive) == 0)
        archiver.advance(&archives)
        #expect(zip(successes(), before).allSatisfy { $0 ?? 0 > $1 ?? 0 })
        #expect(failures().allSatisfy { $0 == 3 })
        #expect(count("archive.available") == names)
        #expect(ArchiveFolder(archive, database: "example").chains.count == 1)
        #expect(count("archive.gap") == 0)
    }

    @Test("begins an archive elsewhere when it is told to, and goes on with one that is there")
    func otherFolder() throws {
        let archiver = try makeArchiver()
        var archives = archiver.makeArchives()
        archiver.advance(&archives)
        func names() -> [String] {
            [data, archive, archive + "-2"].map { folder in
                FileBytes.read(folder + "/archive.id").map { String(decoding: $0, as: UTF8.self) } ?? ""
            }
        }
        let first = names()[1]
        #expect(names() == ["\(first)\(archive)\n", first, ""])

        // Another one, empty.
        let other = Archiver(ArchiveConfiguration(folder: archive + "-2"), folder: data, log: log)
        try other.makeFolder()
        var otherArchives = other.makeArchives()
        other.advance(&otherArchives)
        #expect(other.figures["example"]?.failures == 0)
        let second = names()[2]
        #expect(names() == ["\(second)\(archive)-2\n", first, second])
        #expect(first != second)

        // The first one again.
        archiver.advance(&archives)
        #expect(archiver.figures["example"]?.failures == 0)
        #expect(names() == ["\(first)\(archive)\n", first, second])

        // By another spelling.
        let spelled = Archiver(
            ArchiveConfiguration(folder: archive.replacing("/", with: "//") + "/./"), folder: data, log: log)
        var spelledArchives = spelled.makeArchives()
        spelled.advance(&spelledArchives)
        #expect(spelled.figures["example"]?.failures == 0)
        #expect(names() == ["\(first)\(archive)\n", first, second])

        // What cannot be read is not absent.
        let note = archive + "/archive.id"
        #expect(rename(note, note + "-away") == 0)
        #expect(mkdir(note, 0o700) == 0)
        unlink(data + "/archive.id")
        archiver.advance(&archives)
        #expect(archiver.figures["example"]?.problem?.contains("archive.id") == true)
        #expect(names() == ["", "", second])
        rmdir(note)
        #expect(rename(note + "-away", note) == 0)
        archiver.advance(&archives)
        #expect(names() == ["\(first)\(archive)\n", first, second])

        // The name is lost with the disk: a new archive is begun after its owner has said so.
        for part in TemporaryFolder.files(in: archive) {
            #expect(rename("\(archive)/\(part)", "\(folder.path)/\(part)") == 0)
        }
        archiver.advance(&archives)
        #expect(archiver.figures["example"]?.failures == 2)
        unlink(data + "/archive.id")
        archiver.advance(&archives)
        #expect(archiver.figures["example"]?.failures == 2)
        #expect(ArchiveFolder(archive, database: "example").chains.count == 1)
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
