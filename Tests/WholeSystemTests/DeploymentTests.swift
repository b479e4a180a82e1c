import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing

@Suite("The files for operators", .timeLimit(.minutes(15)))
struct DeploymentTests {
    private static let project = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

    private func lines(_ name: String) -> [String] {
        String(decoding: TemporaryFolder.contents(of: "\(Self.project)/deploy/\(name)"), as: UTF8.self)
            .split(separator: "\n").map { String($0) }
    }

    /// Options that the file sets, or would set if their comment sign were removed.
    private func options(_ line: String) -> (name: String, isSet: Bool)? {
        let isSet = !line.hasPrefix("#")
        let text = isSet ? line[...] : line.dropFirst().drop { $0 == " " }
        let words = text.split(separator: " ")
        guard words.count >= 3, words[1] == "=", words[0].allSatisfy({ $0.isLowercase || $0 == "-" }) else {
            return nil
        }
        return (String(words[0]), isSet)
    }

    @Test("the sample configuration is for production, and a server takes it")
    func configuration() async throws {
        let folder = TemporaryFolder()
        let sample = lines("hearth.conf")
        let set = Set(sample.compactMap { options($0) }.filter(\.isSet).map(\.name))
        #expect(set.isSuperset(of: ["listen", "data", "rules", "durability"]))
        #expect(!sample.contains { options($0)?.name == "dev" })
        TemporaryFolder.write(Array(#"{"rules":{}}"#.utf8), to: folder.path + "/rules.json")
        // Unchanged, except for the places.
        let text = sample.map { line in
            line.hasPrefix("listen =")
                ? "listen = 127.0.0.1:0"
                : line.replacing("/var/lib/hearth", with: folder.path + "/data")
                    .replacing("/etc/hearth/", with: folder.path + "/")
        }
        TemporaryFolder.write(Array((text.joined(separator: "\n") + "\n").utf8), to: folder.path + "/hearth.conf")
        let process = try HearthProcess([
            "serve", "--config", folder.path + "/hearth.conf", "--admin-listen", "127.0.0.1:0",
        ])
        var isReady = false
        while !isReady, let line = await process.line() { isReady = line.hasPrefix("hearth: ready on ") }
        #expect(isReady)
        process.signal(SIGTERM)
        #expect(try await process.outcome().code == 0)
    }

    @Test("the units are hardened, wait for readiness, and leave the server time to write what it has accepted")
    func hardening() {
        let unit = lines("hearth.service")
        for line in [
            "Type=notify", "User=hearth", "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=",
            "SystemCallErrorNumber=EPERM", "TimeoutStopSec=60",
        ] { #expect(unit.contains(line), "\(line)") }
        #expect(lines("hearth-backup.service").contains { $0.hasPrefix("ExecStart=/usr/bin/hearth backup --to ") })
        #expect(lines("hearth-backup.timer").contains("Persistent=true"))
    }

    @Test("every option that the sample mentions exists")
    func names() async throws {
        let help = try await HearthProcess.run("help", "serve").output
        for name in lines("hearth.conf").compactMap({ options($0)?.name }) {
            #expect(help.contains("--\(name) "), "\(name)")
        }
    }

    @Test("the unit does not restart the server for a mistake in its options")
    func unit() async throws {
        let unit = lines("hearth.service")
        let statuses =
            unit.first { $0.hasPrefix("RestartPreventExitStatus=") }?.dropFirst(25).split(separator: " ") ?? []
        let usage = try await HearthProcess.run("serve", "--nonsense")
        #expect(statuses.contains("\(usage.code)"))
        let folder = TemporaryFolder()
        TemporaryFolder.write(Array("{".utf8), to: folder.path + "/rules.json")
        let rules = try await HearthProcess.run(
            "serve", "--rules", folder.path + "/rules.json", "--data", folder.path + "/data")
        #expect(statuses.contains("\(rules.code)"), "\(rules)")
        let start = try #require(unit.first { $0.hasPrefix("ExecStart=") })
        #expect(!start.contains("--dev"))
        #expect(start.contains("--config /etc/hearth/hearth.conf"))
    }
}
