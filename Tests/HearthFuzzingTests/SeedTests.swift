import Glibc
import HearthFuzzing
import Testing

/// Runs the seeds of the fuzzer in every test run, without its runtime: a seed that crashed once stays mended.
@Suite("Seeds of the fuzzer")
struct SeedTests {
    typealias Target = @Sendable (UnsafeRawBufferPointer) -> Void

    static let targets: [String: Target] = [
        "HTTPRequests": { fuzzHTTPRequests($0) },
        "HTTPResponses": { fuzzHTTPResponses($0) },
        "EventStreams": { fuzzEventStreams($0) },
        "WebSocketFrames": { fuzzWebSocketFrames($0) },
        "JSONValues": { fuzzJSONValues($0) },
        "Paths": { fuzzPaths($0) },
        "WireMessages": { fuzzWireMessages($0) },
        "Tokens": { fuzzTokens($0) },
        "RulesFiles": { fuzzRulesFiles($0) },
        "RulesTests": { fuzzRulesTests($0) },
        "SettingsFiles": { fuzzSettingsFiles($0) },
        "RESTRequests": { fuzzRESTRequests($0) },
        "MultipartForms": { fuzzMultipartForms($0) },
        "ServerMessages": { fuzzServerMessages($0) },
        "PeerMessages": { fuzzPeerMessages($0) },
        "EtcdReplies": { fuzzEtcdReplies($0) },
        "AccountRequests": { fuzzAccountRequests($0) },
        "AdminMessages": { fuzzAdminMessages($0) },
    ]

    private static let serverTargets: Set = ["AccountRequests", "AdminMessages"]

    /// `Fuzz/Corpus`, seen from this file.
    static let corpus = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/Fuzz/Corpus"

    @Test("have a directory for each target")
    func directories() throws {
        #expect(try entries(of: Self.corpus) == Self.targets.keys.sorted())
    }

    @Test("pass, and so does each of their beginnings", arguments: targets.keys.sorted())
    func pass(name: String) throws {
        let target = try #require(Self.targets[name])
        let seeds = try entries(of: "\(Self.corpus)/\(name)")
        #expect(seeds.count > 4)
        for seed in seeds {
            let bytes = try contents(of: "\(Self.corpus)/\(name)/\(seed)")
            #expect(!bytes.isEmpty, "\(seed)")
            // Those that ask a server take their time.
            let step = Self.serverTargets.contains(name) ? 67 : 1
            for count in stride(from: bytes.count, through: 0, by: -step) {
                Array(bytes.prefix(count)).withUnsafeBytes(target)
            }
        }
    }

    private struct Unreadable: Error { var path: String }

    private func entries(of directory: String) throws -> [String] {
        guard let stream = opendir(directory) else { throw Unreadable(path: directory) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    private func contents(of path: String) throws -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw Unreadable(path: path) }
        defer { fclose(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { $1 = fread($0.baseAddress, 1, $0.count, file) }
        guard bytes.count < 1 << 16 else { throw Unreadable(path: path) }
        return bytes
    }
}
