import Glibc
import HearthSystem
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthServer
@testable import HearthBackups
@testable import HearthRealtimeSessions

@Suite("The archive of accounts, keys, rules and settings")
struct AccountsArchiveTests {
    private let folder = TemporaryFolder()
    private var data: String { folder.path + "/data" }
    private var archive: String { folder.path + "/archive" }
    private static let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)

    @Test("has the users of each moment, while the server runs, and copies only after changes")
    func users() throws {
        #expect(FolderSync.makeFolder(archive) == 0)
        var keeper = AccountsArchive(of: data, in: archive, window: 7 * Self.day)
        #expect(try keeper.advance(now: Self.day) == .unchanged)
        let client = try IdentityClient(folder: data)
        _ = try client.signUp("ann@example.com")
        guard case .copied(let path) = try keeper.advance(now: 2 * Self.day) else {
            Issue.record("nothing was copied")
            return
        }
        #expect(path == AccountsArchive.copies(in: archive).last?.path)
        #expect(try keeper.advance(now: 2 * Self.day) == .unchanged)
        // Of a process that was killed while it made a copy.
        let remains = archive + "/.accounts/hearth-19700102T000000Z.part"
        #expect(FolderSync.makeFolder(remains) == 0)
        TemporaryFolder.write(Array("hashes".utf8), to: remains + "/accounts.sqlite")
        // A backup is another thing.
        #expect(BackupStatus(in: data) == nil)
        #expect(AccountsArchive.copies(in: archive)[0].databases.isEmpty)
        _ = try client.signUp("bob@example.com")
        try client.rest.ask("PUT", "/.settings/rules.json", RESTClient.owner, #"{"rules":{".read":true}}"#)
        _ = try keeper.advance(now: 3 * Self.day, isLast: true)
        #expect(!TemporaryFolder.files(in: archive + "/.accounts").contains { $0.hasSuffix(".part") })

        for (time, users) in [
            (Self.day, [true, false]), (2 * Self.day, [true, false]), (3 * Self.day - 1, [true, false]),
            (3 * Self.day, [true, true]),
        ] {
            let copy = try #require(AccountsArchive.copy(in: archive, at: time))
            let restored = folder.path + "/restored-\(time)"
            _ = try BackupSet.restore(copy.path, in: restored)
            let past = try IdentityClient(folder: restored)
            let found = try ["ann@example.com", "bob@example.com"].map { try past.signIn($0).status == 200 }
            #expect(found == users)
            let rules = try past.rest.ask("GET", "/.settings/rules.json", RESTClient.owner).text
            #expect(rules.contains(#"{".read":true}"#) == users[1], "\(rules)")
        }
        #expect(AccountsArchive.copy(in: archive, at: nil)?.time == 3 * Self.day)
    }

    @Test("is kept by a server, which reports its age, and ends with the last change")
    func server() async throws {
        do {
            let server = try RealtimeTestServer {
                $0.dataFolder = data
                $0.archive = ArchiveConfiguration(folder: archive)
                $0.archive?.interval = .milliseconds(20)
                // The connection outlasts the wait.
                $0.connectionLimits.keepAliveTimeout = .seconds(600)
            }
            let rest = try server.connectREST()
            try rest.ask("PUT", "/.settings/rules.json", RESTClient.owner, #"{"rules":{".read":true}}"#)
            try await eventually("a copy of the rules") {
                let name = "hearth_archive_accounts_last_success_timestamp_seconds"
                let lines = try rest.ask("GET", "/metrics", RESTClient.owner).text.split(separator: "\n")
                return lines.contains { $0.hasPrefix(name + " ") && $0 != name + " 0" }
            }
            try rest.ask("PUT", "/.settings/rules.json?ns=late", RESTClient.owner, #"{"rules":{".read":true}}"#)
        }
        #expect(AccountsArchive.copy(in: archive, at: nil)?.files.contains("late.rules") == true)
    }

    @Test("lets the disk rest between copies, except for the last one")
    func rest() throws {
        #expect(FolderSync.makeFolder(archive) == 0)
        #expect(FolderSync.makeFolder(data) == 0)
        var keeper = AccountsArchive(of: data, in: archive, window: Self.day)
        var isWaiting = false
        // A copy takes some time, and a change that follows at once comes before twenty times of it, sooner or later.
        for number in 1...1000 where !isWaiting {
            try PrivateFile.replace(data + "/a.rules", with: Array("\(number)".utf8))
            isWaiting = try keeper.advance(now: Int64(number)) == .waiting
        }
        #expect(isWaiting)
        guard case .copied = try keeper.advance(now: 2000, isLast: true) else {
            Issue.record("the last change is missing")
            return
        }
    }

    @Test("makes a copy again that is gone, and keeps the last one though the clock was set back")
    func lastCopy() throws {
        #expect(FolderSync.makeFolder(archive) == 0)
        #expect(FolderSync.makeFolder(data) == 0)
        try PrivateFile.replace(data + "/a.rules", with: Array("1".utf8))
        var keeper = AccountsArchive(of: data, in: archive, window: Self.day)
        func copied(at time: Int64) throws -> Bool {
            guard case .copied(let path) = try keeper.advance(now: time, isLast: true) else { return false }
            return BackupSet.isSet(path)
        }
        #expect(try copied(at: Self.hour + 30))
        #expect(try keeper.advance(now: Self.hour + 31) == .unchanged)
        #expect(rename(archive + "/.accounts", archive + "/gone") == 0)
        #expect(try copied(at: Self.hour + 40))
        try PrivateFile.replace(data + "/a.rules", with: Array("2".utf8))
        #expect(try copied(at: Self.hour + 10))
        #expect(try keeper.advance(now: Self.hour + 11) == .unchanged)
    }

    @Test("keeps a copy of each hour, after a week of each day, in the window, and the last one")
    func thinning() {
        let now = 100 * Self.day
        func kept(_ times: [Int64], window: Int64 = 30 * Self.day) -> [Int64] {
            let removed = Set(AccountsArchive.dispensable(times, window: window, now: now))
            return times.indices.filter { !removed.contains($0) }.map { times[$0] }
        }
        #expect(kept([]) == [])
        #expect(kept([1]) == [1])
        let hour = now - Self.hour
        #expect(kept([hour, hour + 1, hour + 2, now]) == [hour + 2, now])
        let old = now - 10 * Self.day
        #expect(
            kept([old, old + Self.hour, old + 5 * Self.hour, old + Self.day]) == [old + 5 * Self.hour, old + Self.day])
        // The one before the window is what its beginning is restored from.
        let begin = now - 30 * Self.day
        #expect(kept([begin - 2, begin - 1, begin + Self.day]) == [begin - 1, begin + Self.day])
        #expect(kept([now - 2, now - 1]) == [now - 1])
    }
}
