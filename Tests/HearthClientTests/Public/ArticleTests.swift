import Glibc
import Testing

@Suite("The articles about the client")
struct ArticleTests {
    private static func lines(_ path: String) throws -> [String] {
        let file = try #require(fopen(path, "r"), "\(path)")
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { String($0.drop { $0 == " " }) }
    }

    /// The files with their code: it is compiled there, and most of the last three is run.
    private static let sources = [
        "Tests/HearthClientTests/Public/ArticleExamples.swift", "Tests/HearthTestingTests/TestServerTests.swift",
        "Tests/Outside/Package.swift", "Tests/Outside/Sources/First/First.swift",
    ]

    @Test(
        "show code that compiles",
        arguments: [
            "HearthClient", "GettingStarted", "Observing", "Writing", "Querying", "Transactions", "Codable",
            "Connections", "Concurrency", "ErrorsAndRetries", "Testing", "SigningIn",
        ])
    func examples(article: String) throws {
        let folder = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()
        let article = try Self.lines("\(folder)/Sources/HearthClient/Documentation.docc/\(article).md")
        // Lines are broken as the formatter wants them there.
        let source = try Self.sources.map { try Self.lines("\(folder)/\($0)").joined() }.joined(separator: "\n")
        var block: [String]?
        var count = 0
        for line in article {
            switch (line, block) {
            case ("```swift", _): block = []
            case ("```", let lines?):
                // Named first: an expectation about the sources would print them all.
                let isThere = source.contains(lines.joined())
                #expect(isThere, "\(lines.joined(separator: "\n"))")
                count += 1
                block = nil
            default: block?.append(line)
            }
        }
        #expect(count > 0)
    }
}
